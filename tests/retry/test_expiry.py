"""What has outlived its last moment is not sent, and says so; nothing stale goes out first."""

from dataclasses import replace
from datetime import timedelta

import pytest

from delivery import agent
from delivery.facts import Facts
from delivery.next_move import Kind, next_move
from delivery.simulator.client import Simulator
from ledgers.clock import ClockTimestamp, database_now
from ledgers.models import Channel
from ledgers.states import DeliveryStatus
from tests.commands.shell import typed
from tests.crash.clock import pass_s
from tests.delivery.waves import take_calls
from tests.factories import deliveries, delivery, make_due, record, sweep
from tests.retry.ways import DAY, HOUR, MINUTE, outcomes, rooms, wire


@pytest.mark.django_db
def test_at_its_last_moment_it_is_sent_and_a_millisecond_later_it_is_expired() -> None:
    last = database_now()
    facts = Facts("late", not_after=last)

    at_it = next_move(facts, last)
    past_it = next_move(facts, last + timedelta(milliseconds=1))

    assert (at_it.kind, at_it.before) == (Kind.SUBMIT, last)
    assert (past_it.kind, past_it.status) == (Kind.FINISH, DeliveryStatus.EXPIRED)


@pytest.mark.django_db
def test_a_pause_never_outlasts_the_last_moment() -> None:
    now = database_now()
    facts = Facts("late", not_before=now + timedelta(hours=2), not_after=now + timedelta(hours=1))

    waiting = next_move(facts, now)
    then = next_move(facts, waiting.until or now)

    assert waiting.kind == Kind.WAIT
    assert then.status == DeliveryStatus.EXPIRED
    assert next_move(replace(facts, not_before=None), now).kind == Kind.SUBMIT


def test_after_an_outage_only_what_is_still_wanted_goes_out(recipient: Simulator) -> None:
    rooms(recipient)
    now = database_now()
    record([f"room:{n}" for n in range(20)], not_after=now + timedelta(minutes=60))
    record(["room:fresh"], run_id="run-2", not_after=now + timedelta(days=30))
    record(["room:open"], run_id="run-3")

    pass_s(14 * DAY)  # nobody worked
    sweep()

    assert {row.status for row in deliveries()} == {"expired"}
    assert recipient.effects_by_destination() == {"room:fresh": 1, "room:open": 1}
    assert recipient.submissions() == 2


def test_seven_minutes_before_its_last_moment_it_is_sent(recipient: Simulator) -> None:
    rooms(recipient)
    record(["room:a"], not_after=database_now() + timedelta(minutes=60))

    pass_s(53 * MINUTE)
    sweep()

    assert (delivery("room:a").status, recipient.effects("room:a")) == ("delivered", 1)


def test_what_expired_is_never_silently_gone(recipient: Simulator) -> None:
    rooms(recipient)
    (row,) = record(["room:a"], not_after=database_now() + timedelta(minutes=60))

    pass_s(60 * MINUTE + 1)
    sweep()

    told = typed("show_delivery", str(row.delivery_id), "--json").json
    (owed,) = agent.owed("run-1").standing.deliveries
    event = row.events.get(kind="expire")
    assert (told["status"], told["cause"]) == ("expired", "expired: its last moment has passed")
    assert (owed.status, owed.advice) == ("expired", "not_sent")
    assert (event.from_status, event.to_status, event.rule) == ("pending", "expired", "expired")
    assert "expired" in typed("show_run", "run-1").out


@pytest.mark.parametrize("held", [False, True], ids=["between tries", "held"])
def test_what_is_waiting_expires_when_its_time_comes_and_not_when_it_would_be_due(
    recipient: Simulator, held: bool
) -> None:
    rooms(recipient)
    recipient.behave("room:a", {"do": "rate_limit", "retry_after": 6 * HOUR})
    record(["room:a"], not_after=database_now() + timedelta(minutes=60))
    if held:
        Channel.objects.update(paused_at=ClockTimestamp(), pause_reason="audit")
    sweep()

    pass_s(HOUR + 1)
    sweep()

    assert delivery("room:a").status == "expired"
    assert recipient.effects("room:a") == 0


def test_what_expires_between_the_decision_and_the_first_byte_is_not_sent(
    recipient: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    from delivery.settle import settle
    from delivery.timing import boottime

    rooms(recipient, lease_s=HOUR)
    record(["room:a"], not_after=database_now() + timedelta(seconds=30))
    (call,) = take_calls("worker-1")

    with monkeypatch.context() as later:
        later.setattr("delivery.journal.boottime", lambda: boottime() + 31)
        call.run()
    settle([call], "worker-1")
    pass_s(31)
    make_due()
    sweep()

    assert outcomes("room:a") == ["not_tried"]
    assert (delivery("room:a").status, wire(recipient, "room:a")) == ("expired", [])


def test_what_may_have_been_accepted_does_not_become_expired(recipient: Simulator) -> None:
    rooms(recipient)
    recipient.behave("room:a", "accept_and_reset")
    record(["room:a"], not_after=database_now() + timedelta(minutes=60))
    sweep()

    pass_s(2 * HOUR)
    sweep()

    assert (delivery("room:a").status, recipient.effects("room:a")) == ("unknown", 1)
