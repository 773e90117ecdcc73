"""Two holders of one delivery: whoever comes second finds that it is held, sent, or in doubt."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import OperationalError

from delivery.claim import claim
from delivery.decide import Decided, decide
from delivery.errors import NotSentError
from delivery.history import Case
from delivery.models import Worker as WorkerRow
from delivery.settle import settle
from delivery.simulator.client import Simulator
from delivery.submit import Call, Identity
from delivery.timing import boottime
from delivery.wave import open_wave
from ledgers import boundaries
from ledgers.clock import database_now
from ledgers.models import Attempt, Event, OutboxItem
from tests.crash.clock import pass_s
from tests.delivery.senders import Desk
from tests.delivery.waves import take, take_call, take_calls
from tests.factories import deliveries, delivery, make_channel, make_due, record, sweep
from tests.retry.crowds import at_once
from tests.retry.ways import HOUR, outcomes, rooms

LEASE_S = 60.0


def kinds(destination: str = "room:a") -> list[str]:
    return [event.kind for event in delivery(destination).events.all()]


def test_while_one_of_fifty_hangs_beyond_its_lease_the_others_are_settled_and_not_sent_again(
    recipient: Simulator,
) -> None:
    rooms(recipient, lease_s=LEASE_S)
    everybody = [f"room:{n}" for n in range(50)]
    recipient.behave("room:0", "accept_and_wait")
    record(everybody)
    calls = take_calls("worker-1")
    threads = [threading.Thread(target=call.run) for call in calls]
    for thread in threads:
        thread.start()
    recipient.wait_for("held", 1)
    recipient.wait_for("submissions", 50)
    hanging = delivery("room:0").pk
    for thread, call in zip(threads, calls, strict=True):
        if call.delivery_pk != hanging:
            thread.join(10)

    settle([call for call in calls if call.delivery_pk != hanging], "worker-1")
    pass_s(LEASE_S + 1)
    second = sweep()
    between = {row.destination: row.status for row in deliveries()}
    recipient.release()
    for thread in threads:
        thread.join(10)
    settle([call for call in calls if call.delivery_pk == hanging], "worker-1")

    assert second.claimed == 1
    assert between.pop("room:0") == "unknown"
    assert set(between.values()) == {"delivered"}
    assert {row.status for row in deliveries()} == {"delivered"}
    assert recipient.effects_by_destination() == dict.fromkeys(everybody, 1)
    assert recipient.submissions() == Attempt.objects.count() == 50


def test_what_is_due_in_six_hours_is_not_sent_before_whatever_is_restarted(
    recipient: Simulator,
) -> None:
    rooms(recipient)
    record(["room:a"], not_before=database_now() + timedelta(hours=6))
    recipient.behave("room:b", {"do": "rate_limit", "retry_after": 6 * HOUR})
    record(["room:b"], run_id="run-2")
    sweep()

    sent = []
    for _ in range(5):
        pass_s(HOUR)
        sweep()
        sent.append(recipient.submissions())
    pass_s(HOUR + 1)
    sweep()

    assert sent == [1] * 5  # the one that asked to be left alone for six hours
    assert recipient.effects_by_destination() == {"room:a": 1, "room:b": 1}


def test_a_worker_whose_clock_is_fast_steals_nothing_and_says_how_fast_it_is(
    recipient: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    rooms(recipient, lease_s=LEASE_S)
    record(["room:a"])
    (call,) = take_calls("worker-1")
    monkeypatch.setattr(time, "time", _fast(time.time, LEASE_S + 1))

    second = sweep()
    call.run()
    settle([call], "worker-1")

    assert second.claimed == 0
    assert delivery("room:a").status == "delivered"
    assert kinds() == ["record", "begin", "accept"]
    told = WorkerRow.objects.get(name=second.who.name).clock_offset_s
    assert told == pytest.approx(LEASE_S + 1, abs=2)


def _fast(clock: Callable[[], float], seconds: float) -> Callable[[], float]:
    return lambda: clock() + seconds


@pytest.mark.parametrize("stopped_s", [44, 46, 90, 3600])
def test_a_process_that_was_stopped_writes_no_byte_once_its_lease_cannot_hold_the_call(
    recipient: Simulator, monkeypatch: pytest.MonkeyPatch, stopped_s: float
) -> None:
    rooms(recipient, lease_s=LEASE_S, deadline_s=10, margin_s=5)
    record(["room:a"])
    (call,) = take_calls("worker-1")

    with monkeypatch.context() as resumed:  # the clock that counts suspension went on
        resumed.setattr("delivery.journal.boottime", _fast(boottime, stopped_s))
        call.run()

    in_time = stopped_s < LEASE_S - 10 - 5
    assert call.outcome.outcome == ("accepted" if in_time else "not_tried")
    assert recipient.submissions() == (1 if in_time else 0)


def test_a_process_that_was_stopped_and_replaced_sends_nothing_when_it_goes_on(
    recipient: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    rooms(recipient, lease_s=LEASE_S, settings={"dedupe_window_s": HOUR})
    recipient.behave(dedupe_s=HOUR)
    record(["room:a"])
    (call,) = take_calls("worker-1")
    pass_s(90)
    sweep()  # another worker finds the lease over, and may use the same key again
    between = delivery("room:a").status

    monkeypatch.setattr("delivery.journal.boottime", _fast(boottime, 90))
    call.run()
    settle([call], "worker-1")

    assert between == "delivered"
    assert delivery("room:a").status == "delivered"
    assert outcomes("room:a") == ["not_tried", "accepted"]
    assert recipient.submissions("room:a") == recipient.effects("room:a") == 1


def test_several_that_find_the_same_dead_worker_make_it_unknown_once(
    recipient: Simulator,
) -> None:
    rooms(recipient, lease_s=LEASE_S)
    record([f"room:{n}" for n in range(8)])
    take_calls("worker-1")  # and it dies
    pass_s(LEASE_S + 1)

    at_once(4, lambda: sweep(4).claimed)

    assert {row.status for row in deliveries()} == {"unknown"}
    for row in deliveries():
        assert kinds(row.destination) == ["record", "begin", "suspect"]
    assert recipient.submissions() == 0


def test_one_that_declares_it_dead_from_a_stale_read_changes_nothing(
    recipient: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    rooms(recipient, lease_s=LEASE_S)
    record(["room:a"])
    (call,) = take_calls("worker-1")
    call.run()
    make_due()
    claimed = claim(10, {}, 10)  # the reaper has the lease; it reads and decides …

    def decide_and_wait(case: Case) -> Decided:
        decided = decide(case)
        settle([call], "worker-1")  # … and the answer is stored before it acts
        return decided

    monkeypatch.setattr("delivery.wave.decide", decide_and_wait)
    jobs = open_wave(claimed, boottime(), Identity("reaper", "host", "build"))

    assert jobs == []
    assert delivery("room:a").status == "delivered"
    assert kinds() == ["record", "begin", "accept"]
    assert not OutboxItem.objects.exists()


def test_two_that_search_for_the_same_delivery_get_one_lease(recipient: Simulator) -> None:
    rooms(recipient, look_up_schedule=[0])
    recipient.behave("room:a", "accept_and_reset")
    recipient.inject("room:a", "control")
    record(["room:a"])
    sweep()
    pass_s(HOUR)

    jobs = at_once(4, lambda: take("reconciler"))

    searches = [job for found in jobs for job in found]
    assert len(searches) == 1
    assert not isinstance(searches[0], Call)
    assert Event.objects.filter(kind="begin").count() == 1


def test_a_retry_and_the_end_of_the_attempt_before_it_are_written_together_or_not_at_all(
    desk: Desk,
) -> None:
    def die(point: str) -> None:
        if point == "attempts-closed":
            raise OperationalError("the connection was lost before the commit")

    make_channel()
    desk.script("tg:1001", NotSentError("no route"))
    record()
    call = take_call()
    call.run()
    boundaries.listen(die)
    with pytest.raises(OperationalError):
        settle([call], "worker-1")
    boundaries.listen(None)
    undone = (outcomes("tg:1001"), OutboxItem.objects.get().leased)

    settle([call], "worker-1")
    scheduled = (outcomes("tg:1001"), OutboxItem.objects.get().leased)
    sweep()

    assert (undone, scheduled) == (([""], True), (["not_sent"], False))
    assert outcomes("tg:1001") == ["not_sent", "accepted"]
    assert desk.effects("tg:1001") == 1
