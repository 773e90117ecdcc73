"""Sending again what may have arrived, or is known not to have: effects are counted there."""

from datetime import timedelta

import pytest
from pytest_django import Settings

from delivery.simulator.client import Simulator
from delivery.submit import RESENT_MARKER
from ledgers.clock import database_now
from ledgers.models import Delivery, Event, OutboxItem
from reviews import decisions
from reviews.errors import NotAllowedError
from reviews.kinds import Kind, Stage
from reviews.people import Person
from tests.factories import deliveries, record, sweep
from tests.reviews.scenes import (
    BLIND,
    ROOM,
    absent,
    channel,
    let_undo_end,
    unknown,
    unknown_and_paused,
    wish,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_same_key_is_sent_again_once_the_undo_is_over_and_makes_no_second_message(
    recipient: Simulator, alice: Person
) -> None:
    # Left to itself it waits an hour for its search.
    channel(recipient, settings={"dedupe_window_s": 7200, "scan": True}, look_up_schedule=[3600])
    recipient.behave(ROOM, dedupe_s=7200)
    (row,) = unknown(recipient)

    decision = decisions.decide(alice, wish(Kind.SEND_SAME_KEY), [row])
    sweep()
    before = recipient.submissions(ROOM)
    let_undo_end(row)
    sweep()

    row.refresh_from_db()
    assert decision.undo_until is not None
    assert (before, recipient.submissions(ROOM), recipient.effects(ROOM)) == (1, 2, 1)
    assert (row.status, row.attempt_count, row.generation) == ("delivered", 2, 1)


def test_an_approved_same_key_whose_window_has_closed_is_not_sent(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings={"dedupe_window_s": 7200, **BLIND})
    (row,) = unknown_and_paused(recipient)
    decisions.decide(alice, wish(Kind.SEND_SAME_KEY), [row])

    let_undo_end(row)
    earlier = database_now() - timedelta(hours=3)
    Delivery.objects.filter(pk=row.pk).update(key_first_used_at=earlier)
    sweep()

    row.refresh_from_db()
    assert row.status == "unknown"
    assert "no longer protects" in row.cause
    assert recipient.submissions(ROOM) == 1


def test_after_a_complete_search_it_is_sent_as_it_was_once(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient)
    row = absent(recipient)

    decisions.decide(alice, wish(Kind.SEND_AFTER_ABSENT), [row])
    let_undo_end(row)
    sweep()

    row.refresh_from_db()
    assert (row.status, row.generation, row.attempt_count) == ("delivered", 1, 2)
    assert recipient.effects(ROOM) == 1


def test_a_stale_search_is_no_ground_to_send_again(
    recipient: Simulator, alice: Person, settings: Settings
) -> None:
    channel(recipient)
    row = absent(recipient)
    settings.COUNTERFOIL_EVIDENCE_S = 0

    with pytest.raises(NotAllowedError, match="look again first"):
        decisions.decide(alice, wish(Kind.SEND_AFTER_ABSENT), [row])

    row.refresh_from_db()
    assert row.decision == ""
    assert Event.objects.filter(kind="refuse", delivery=row, actor="alice").exists()


def test_sending_what_may_have_arrived_takes_two_people_and_makes_a_marked_generation(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])
    sweep()
    assert recipient.submissions(ROOM) == 1

    done = decisions.approve(bob, asked.pk, "I called them")
    second = Delivery.objects.get(generation=2)
    let_undo_end(second)
    sweep()

    row.refresh_from_db()
    second.refresh_from_db()
    assert (asked.stage, done.stage, done.approved_by) == (Stage.REQUESTED, Stage.EXECUTED, "bob")
    assert (second.status, second.attempt_count) == ("delivered", 1)
    assert second.idempotency_key != row.idempotency_key
    newest = recipient.messages(ROOM)[0]
    assert RESENT_MARKER in newest["text"]
    assert newest["recognizer"] == second.recognizer != row.recognizer
    assert recipient.effects(ROOM) == 2


def test_what_the_second_generation_proves_ends_the_first(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])
    decisions.approve(bob, asked.pk)

    let_undo_end(Delivery.objects.get(generation=2))
    sweep()
    sweep()

    row.refresh_from_db()
    assert (row.status, row.attempt_count) == ("delivered", 1)
    assert not OutboxItem.objects.exists()


def test_no_machine_sends_a_generation_that_has_a_successor(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    recipient.behave(ROOM, "reset", "reset", "reset")
    record([ROOM])
    sweep()
    (row,) = deliveries()
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])
    decisions.approve(bob, asked.pk)

    let_undo_end(row, Delivery.objects.get(generation=2))
    sweep()

    first, second = deliveries()
    assert (first.status, first.attempt_count) == ("unknown", 1)
    assert first.withdrawn_at is not None
    assert (second.status, second.attempt_count) == ("unknown", 1)
    with pytest.raises(NotAllowedError, match="generation 2 stands in its place"):
        decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [first])


def test_trying_again_while_a_worker_holds_it_is_refused_with_the_leases_end(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings={"dedupe_window_s": 7200, **BLIND})
    (row,) = unknown_and_paused(recipient)
    OutboxItem.objects.filter(pk=row.pk).update(
        leased=True, due_at=database_now() + timedelta(seconds=40)
    )

    with pytest.raises(NotAllowedError, match=r"a worker holds it until \d\d:\d\d:\d\d UTC"):
        decisions.decide(alice, wish(Kind.SEND_SAME_KEY), [row])
