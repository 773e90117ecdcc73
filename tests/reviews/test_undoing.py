"""Taking a decision back: in time nothing leaves, and later it is refused."""

import pytest
from pytest_django import Settings

from delivery.simulator.client import Simulator
from ledgers.clock import database_now
from ledgers.evidence import Sighting, add_sightings
from reviews import decisions
from reviews.errors import NotAllowedError
from reviews.kinds import Kind, Stage
from reviews.people import Person
from tests.factories import deliveries, make_due, sweep
from tests.reviews.scenes import (
    BLIND,
    ROOM,
    absent,
    channel,
    due,
    failed,
    unknown,
    unknown_and_paused,
    wish,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_undo_in_time_restores_an_unknown_one_and_nothing_leaves(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings={"dedupe_window_s": 7200, **BLIND})
    (row,) = unknown_and_paused(recipient)
    decision = decisions.decide(alice, wish(Kind.SEND_SAME_KEY), [row])

    undone = decisions.undo(alice, decision.pk)
    sweep()

    row.refresh_from_db()
    assert (undone.stage, undone.rows.get().result) == (Stage.UNDONE, "undone")
    assert (row.status, row.decision, row.undo_until) == ("unknown", "", None)
    assert recipient.submissions(ROOM) == 1


def test_undo_of_a_second_generation_cancels_it_unsent_and_frees_the_first(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])
    decisions.approve(bob, asked.pk)

    decisions.undo(alice, asked.pk)
    sweep()

    first, second = deliveries()
    assert (first.status, first.withdrawn_at) == ("unknown", None)
    assert (second.status, second.attempt_count) == ("cancelled", 0)
    assert recipient.submissions(ROOM) == 1


def test_undo_of_a_try_again_lets_it_be_failed_as_before(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient)
    row = failed(recipient)
    decision = decisions.decide(alice, wish(Kind.TRY_AGAIN), [row])

    decisions.undo(alice, decision.pk)
    sweep()

    row.refresh_from_db()
    assert (row.status, row.attempt_count) == ("failed", 1)
    assert due(row) is None


def test_undo_is_refused_when_it_is_too_late(
    recipient: Simulator, alice: Person, settings: Settings
) -> None:
    settings.COUNTERFOIL_UNDO_S = 0
    channel(recipient)
    row = absent(recipient)
    decision = decisions.decide(alice, wish(Kind.SEND_AFTER_ABSENT), [row])
    sweep()

    with pytest.raises(NotAllowedError, match="too late"):
        decisions.undo(alice, decision.pk)

    assert recipient.effects(ROOM) == 1


def test_a_wake_up_does_not_shorten_the_undo(recipient: Simulator, alice: Person) -> None:
    channel(recipient)
    row = absent(recipient)
    decisions.decide(alice, wish(Kind.SEND_AFTER_ABSENT), [row])

    make_due(pk=row.pk)
    sweep()

    row.refresh_from_db()
    assert (row.status, row.attempt_count) == ("pending", 1)
    assert due(row) == row.undo_until


def test_undo_takes_nothing_back_that_somebody_else_decided_since(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    """Bob's decision would say that it is carried out, and nothing would ever be sent."""
    channel(recipient, settings={"dedupe_window_s": 7200, **BLIND})
    (row,) = unknown_and_paused(recipient)
    first = decisions.decide(alice, wish(Kind.SEND_SAME_KEY), [row])
    add_sightings([
        Sighting(row.pk, database_now(), "operator", "inconclusive", "", "", None, 0, "", "", "ann")
    ])  # fmt: skip
    row.refresh_from_db()
    decisions.decide(bob, wish(Kind.SEND_SAME_KEY), [row])

    with pytest.raises(NotAllowedError, match="it has moved on"):
        decisions.undo(alice, first.pk)

    row.refresh_from_db()
    assert (row.decision, row.undo_until is None) == ("send_again", False)
