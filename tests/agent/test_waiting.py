"""Waiting, asking and withdrawing: looking sends nothing, and every answer says what to do next."""

import pytest

from delivery import agent, submit
from delivery.errors import NotSentError, RefusedError
from delivery.settle import settle
from delivery.timing import boottime
from ledgers.models import Channel
from tests.crash.clock import pass_s
from tests.delivery.senders import Desk, Pause
from tests.delivery.waves import on_the_wire, take_call
from tests.factories import SENDER, delivery, make_due, message, record, sweep
from tests.ledgers.connections import other_thread

pytestmark = pytest.mark.django_db(transaction=True)


def owed() -> agent.Owed:
    return agent.owed("run-1")


def test_waiting_ends_as_soon_as_everything_is_delivered(alerts: Channel, desk: Desk) -> None:
    with agent.run("run-1", agent="tester") as run:
        step = run.step("write")
        sent = step.complete(None, [message(["tg:1", "tg:2"])])
    sweep()

    standing = sent.wait(60)

    assert standing
    assert standing.counts == {"delivered": 2}
    assert str(standing) == "2 of 2 destinations: 2 delivered"
    assert str(run.standing()) == str(standing)


def test_waiting_ends_while_another_worker_delivers(alerts: Channel, desk: Desk) -> None:
    with agent.run("run-1", agent="tester") as run:
        sent = run.step("write").complete(None, [message()])

    with other_thread() as thread:
        thread.submit(sweep)
        standing = sent.wait(60)

    assert standing
    assert desk.effects("tg:1001") == 1


def test_waiting_does_not_wait_for_what_only_a_person_can_settle(
    alerts: Channel, desk: Desk
) -> None:
    desk.script("tg:1001", RuntimeError("reset"))
    with agent.run("run-1", agent="tester") as run:
        sent = run.step("write").complete(None, [message()])
    sweep()
    begun = boottime()

    standing = sent.wait(60)

    assert boottime() - begun < 30
    assert not standing
    assert [d.destination for d in standing.unknown] == ["tg:1001"]


def test_running_out_of_time_means_only_that_it_is_still_on_its_way(
    alerts: Channel, desk: Desk
) -> None:
    with agent.run("run-1", agent="tester") as run:
        sent = run.step("write").complete(None, [message()])

    standing = sent.wait(0.05)

    assert not standing
    assert [d.advice for d in standing.on_its_way] == ["do_not_resend"]


def test_a_step_that_owes_nothing_is_delivered_at_once(alerts: Channel) -> None:
    with agent.run("run-1", agent="tester") as run:
        standing = run.step("write").complete().wait(60)

    assert standing
    assert str(standing) == "no destinations"


def test_cancelled_in_time_nothing_is_sent(alerts: Channel, desk: Desk) -> None:
    record(["tg:1", "tg:2"])

    done = agent.cancel("run-1", actor="ada", reason="not wanted")
    sweep()

    assert (len(done.in_time), done.too_late, done.ended) == (2, (), ())
    assert str(done).startswith("2 cancelled in time, 0 too late")
    assert {d.status for d in owed().standing.deliveries} == {"cancelled"}
    assert {d.advice for d in owed().standing.deliveries} == {"not_sent"}
    assert desk.received == []
    withdrawal = delivery("tg:1").events.get(kind="withdraw")
    assert (withdrawal.actor, withdrawal.detail) == ("ada", {"reason": "not wanted"})


def test_only_what_was_named_is_cancelled(alerts: Channel, desk: Desk) -> None:
    with agent.run("run-1", agent="tester") as run:
        run.step("write").complete(None, [message(["tg:1", "tg:2"]), message(name="alarm")])

    one = agent.cancel("run-1", message="digest", destination="tg:2")
    nobody = agent.cancel("run-1", destination="tg:3")
    sweep()

    assert (len(one.in_time), len(nobody.in_time)) == (1, 0)
    assert sorted(call.destination for call in desk.received) == ["tg:1", "tg:1001"]


def test_a_withdrawal_of_what_is_on_the_wire_is_too_late_and_forbids_further_sends(
    alerts: Channel, desk: Desk
) -> None:
    pause = Pause(NotSentError("no route"))
    desk.script("tg:1001", pause)
    record()
    call = take_call()
    with on_the_wire(call, pause):
        done = agent.cancel("run-1")
        between = delivery().status

    settle([call], "worker-1")
    sweep()

    assert (done.in_time, len(done.too_late)) == ((), 1)
    assert between == "submitting"
    assert delivery().status == "cancelled"  # the answer proved that nothing was sent
    assert len(desk.received) == 1


def test_a_withdrawal_of_what_is_unknown_is_kept_and_forbids_the_same_key(
    alerts: Channel, desk: Desk
) -> None:
    Channel.objects.update(
        settings={"path": SENDER, "dedupe_window_s": 86400}, retry_schedule=[3600]
    )
    desk.script("tg:1001", RuntimeError("reset"))
    record()
    sweep()

    done = agent.cancel("run-1")
    again = agent.cancel("run-1")
    pass_s(7200)
    sweep()

    row = delivery()
    assert (len(done.too_late), len(again.too_late)) == (1, 1)
    assert (row.status, row.withdrawn_at is not None) == ("unknown", True)
    assert len(desk.received) == 1


def test_what_has_ended_is_told_so(alerts: Channel, desk: Desk) -> None:
    desk.script("tg:2", RefusedError("no"))
    record(["tg:1", "tg:2"])
    sweep()

    done = agent.cancel("run-1")

    assert (done.in_time, done.too_late, len(done.ended)) == ((), (), 2)
    assert delivery("tg:1").withdrawn_at is None


def test_a_withdrawal_between_the_claim_and_the_write_ahead_wins(
    alerts: Channel, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    record()
    original = submit.write_ahead

    def cancel_first(*arguments: object) -> object:
        agent.cancel("run-1")
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("delivery.wave.write_ahead", cancel_first)

    sweep()
    make_due()
    sweep()

    assert (delivery().status, delivery().attempt_count, desk.received) == ("cancelled", 0, [])


def test_a_run_that_nobody_knows_is_an_error_and_no_empty_answer() -> None:
    for call in (agent.owed, agent.cancel):
        with pytest.raises(agent.NotFoundError, match="there is no run 'nobody'"):
            call("nobody")
