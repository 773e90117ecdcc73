"""A recipient that is gone and comes back: what waits costs nothing, and then it all goes out."""

from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import urlsplit

import pytest

from delivery.breaker import HELD_BY, LONGEST_PAUSE_S, OPEN, OPEN_AFTER, Breaker
from delivery.errors import NotSentError, RefusedError
from delivery.simulator.client import Simulator
from ledgers import outbox
from ledgers.clock import database_now
from ledgers.models import Attempt, Delivery, Event, OutboxItem
from tests.crash.clock import pass_s
from tests.delivery.senders import Desk
from tests.factories import deliveries, make_channel, record, sweep
from tests.retry.test_breaker import Clock
from tests.retry.ways import hooks, outcomes

HELD_S = 31.0  # longer than what is held waits until it is looked at again
PENDING = 44
CALLS = 4  # at once


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The breaker's clock; everything else keeps its own."""
    clock = Clock()
    monkeypatch.setattr("delivery.breaker.boottime", clock)
    return clock


@pytest.fixture
def gone(transactional_db: None) -> Iterator[Simulator]:
    """A recipient that was there a moment ago; nothing listens at its port."""
    with Simulator.start() as recipient:
        recipient.stop()
        yield recipient


def come_back(recipient: Simulator) -> Simulator:
    return Simulator.start(port=urlsplit(recipient.url).port or 0)


def time_passes(clock: Clock, seconds: float) -> None:
    clock.now += seconds
    pass_s(seconds)


def test_all_that_waited_goes_out_once_the_recipient_is_back_without_a_restart(
    gone: Simulator, clock: Clock
) -> None:
    hooks(max_attempts=20)
    record([gone.hook(f"room-{n}") for n in range(PENDING)])

    sweep(CALLS)
    in_the_first_shift = Attempt.objects.count()
    for _ in range(3):
        time_passes(clock, HELD_S)
        sweep(CALLS)
    with_probes = Attempt.objects.count()
    held = {row.cause for row in deliveries()}
    with come_back(gone) as recipient:
        time_passes(clock, LONGEST_PAUSE_S)
        sweep(CALLS)
        effects = recipient.effects_by_destination()

    assert OPEN_AFTER <= in_the_first_shift < OPEN_AFTER + CALLS
    assert with_probes == in_the_first_shift + 3
    assert held == {"held: held: breaker open: the destination does not answer"}
    assert {row.status for row in deliveries()} == {"delivered"}
    assert effects == {f"room-{n}": 1 for n in range(PENDING)}


def test_what_is_held_is_told_once_however_long_it_takes(gone: Simulator, clock: Clock) -> None:
    hooks()
    record([gone.hook(f"room-{n}") for n in range(OPEN_AFTER + CALLS)])

    for _ in range(6):
        sweep(CALLS)
        time_passes(clock, HELD_S)

    rows = [row for row in deliveries() if not outcomes(row.destination)]
    assert rows
    assert all(Event.objects.filter(delivery=row, kind="hold").count() <= 1 for row in rows)
    assert all(row.attempt_count == 0 for row in rows)


def test_a_recipient_that_only_refuses_is_there_and_is_not_left_alone(
    desk: Desk, own_breaker: Breaker
) -> None:
    make_channel()
    everybody = [f"tg:{n}" for n in range(3 * OPEN_AFTER)]
    for destination in everybody:
        desk.script(destination, RefusedError("no such chat"))
    record(everybody)

    sweep()

    assert len(desk.received) == len(everybody)
    assert own_breaker.open_routes() == []


def test_a_call_that_ends_its_thread_does_not_count_as_under_way_for_ever(
    desk: Desk, clock: Clock, monkeypatch: pytest.MonkeyPatch, own_breaker: Breaker
) -> None:
    def leave(*_: object) -> None:
        raise SystemExit

    make_channel()
    monkeypatch.setattr("delivery.channels.function.FunctionAdapter.submit", leave)
    record([f"tg:{n}" for n in range(OPEN_AFTER)])
    sweep(OPEN_AFTER)
    monkeypatch.undo()
    opened = own_breaker.open_routes()
    clock.now = 1e9

    assert [name for _, name in opened] == [""]
    assert own_breaker.admit(opened[0]) == ""


def test_a_host_that_is_gone_holds_no_other_host_of_its_channel(
    gone: Simulator, recipient: Simulator
) -> None:
    hooks(max_attempts=20)
    dead = [gone.hook(f"room-{n}") for n in range(3 * OPEN_AFTER)]
    record([*dead, recipient.hook("alive")])

    sweep(CALLS)

    assert recipient.effects("alive") == 1
    assert Attempt.objects.count() < 2 * OPEN_AFTER + CALLS


def test_what_was_not_sent_waits_its_own_pause_too(desk: Desk) -> None:
    make_channel(retry_schedule=[HELD_S * 10])
    desk.script("tg:1001", NotSentError("no route"))
    record()

    sweep()
    pass_s(HELD_S)
    sweep()

    assert len(desk.received) == 1


def test_waking_what_is_held_takes_so_many_of_those_and_leaves_leases_and_others_alone(
    desk: Desk,
) -> None:
    channel, now = make_channel(), database_now()
    soon = now + timedelta(seconds=20)
    record([f"tg:{n}" for n in range(10)])
    OutboxItem.objects.update(due_at=soon)
    Delivery.objects.filter(destination__in=[f"tg:{n}" for n in range(8)]).update(
        cause=f"held: held: {OPEN}"
    )
    OutboxItem.objects.filter(delivery__destination="tg:0").update(leased=True)
    OutboxItem.objects.filter(delivery__destination="tg:1").update(due_at=now + timedelta(hours=1))

    outbox.wake_held(channel.pk, HELD_BY, 4, within_s=30)
    four = due()
    outbox.wake_held(channel.pk, HELD_BY, 100, within_s=30)

    assert len(four) == 4
    assert due() == {f"tg:{n}" for n in range(2, 8)}


def due() -> set[str]:
    items = OutboxItem.objects.filter(due_at__lte=database_now())
    return set(items.values_list("delivery__destination", flat=True))
