"""Decisions that come to nothing, whole or in part: nothing of them stays but a trail."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import connection

from delivery.simulator.client import Simulator
from ledgers.errors import LostWriteError
from ledgers.models import Credential, Delivery, Event, Evidence
from reviews import decisions, searching
from reviews.errors import NotAllowedError, VoidError
from reviews.kinds import Kind, Stage
from reviews.people import Person
from reviews.records import DecidedRow, Decision
from tests.factories import deliveries, sweep
from tests.reviews.scenes import BLIND, ROOM, absent, channel, failed, unknown, wish

pytestmark = pytest.mark.django_db(transaction=True)
ROOMS = ("room:a", "room:b", "room:c")


@contextmanager
def passed_over(table: str, row: str) -> Iterator[None]:
    """The database changes no such row, and says nothing but how many it changed."""
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION pass_over() RETURNS trigger LANGUAGE plpgsql AS"
            " 'BEGIN RETURN NULL; END'"
        )
        cursor.execute(
            f"CREATE TRIGGER pass_over BEFORE UPDATE ON {table} FOR EACH ROW WHEN ({row})"
            " EXECUTE FUNCTION pass_over()"
        )
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION pass_over CASCADE")


def told(decision: Decision, row: Delivery) -> list[str]:
    """What the trail of a delivery says of a decision, first to last."""
    events = Event.objects.filter(
        delivery=row, detail__decision=decision.pk, kind__startswith="decision_"
    )
    return list(events.order_by("pk").values_list("kind", flat=True))


# --- Rows of the decision that are not written


def ask_otherwise(row: Delivery, alice: Person, bob: Person) -> Decision:
    del bob
    return decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])


def leave(row: Delivery, alice: Person, bob: Person) -> Decision:
    del bob
    return decisions.decide(alice, wish(Kind.LEAVE), [row])


@pytest.mark.parametrize("act", [ask_otherwise, leave])
def test_a_decision_whose_rows_are_not_written_is_not_made(
    act: Callable[[Delivery, Person, Person], Decision],
    recipient: Simulator,
    alice: Person,
    bob: Person,
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)

    with (
        passed_over("reviews_decidedrow", "true"),
        pytest.raises(LostWriteError, match="0 of 1 rows"),
    ):
        act(row, alice, bob)

    assert Decision.objects.get().stage == Stage.DRAFT
    row.refresh_from_db()
    assert row.decision == ""


def test_an_approval_whose_rows_are_not_written_is_not_given(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    rows = unknown(recipient, "room:a", "room:b")
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE, typed="2"), rows)

    with (
        passed_over("reviews_decidedrow", f"OLD.delivery_id = {rows[0].pk}"),
        pytest.raises(LostWriteError, match="1 of 2 rows"),
    ):
        decisions.approve(bob, asked.pk)

    asked.refresh_from_db()
    assert (asked.stage, asked.approved_by) == (Stage.REQUESTED, "")
    assert Delivery.objects.count() == 2


def test_an_undo_whose_rows_are_not_written_is_not_done(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient)
    row = absent(recipient)
    made = decisions.decide(alice, wish(Kind.SEND_AFTER_ABSENT), [row])

    with passed_over("reviews_decidedrow", "true"), pytest.raises(LostWriteError):
        decisions.undo(alice, made.pk)

    made.refresh_from_db()
    row.refresh_from_db()
    assert (made.stage, row.decision) == (Stage.EXECUTED, "send_again")


@pytest.mark.parametrize(
    "lost", ["NEW.status = 'cancelled'", "OLD.withdrawn_at < now() AND NEW.withdrawn_at IS NULL"]
)
def test_a_second_generation_is_taken_back_together_with_what_it_forbade_or_not_at_all(
    lost: str, recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])
    decisions.approve(bob, asked.pk)

    with (
        passed_over("ledgers_delivery", lost),
        pytest.raises(LostWriteError, match="0 of 1 deliveries were restored"),
    ):
        decisions.undo(alice, asked.pk)

    asked.refresh_from_db()
    first, second = deliveries()
    assert asked.stage == Stage.EXECUTED
    assert (first.status, first.withdrawn_at is None) == ("unknown", False)
    assert (second.status, second.decision) == ("pending", "send_again")


def test_what_had_failed_is_so_again_or_the_undo_is_not_done(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient)
    row = failed(recipient)
    made = decisions.decide(alice, wish(Kind.TRY_AGAIN), [row])

    with passed_over("ledgers_delivery", "NEW.status = 'failed'"), pytest.raises(LostWriteError):
        decisions.undo(alice, made.pk)

    made.refresh_from_db()
    row.refresh_from_db()
    assert (made.stage, row.status, row.decision) == (Stage.EXECUTED, "pending", "try_again")


# --- Rows of the ledger that do not move


def test_what_somebody_saw_is_evidence_only_of_the_rows_that_it_delivers(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings=BLIND)
    rows = unknown(recipient, *ROOMS)

    with passed_over("ledgers_delivery", "NEW.status = 'delivered' AND NEW.destination = 'room:b'"):
        made = decisions.decide(alice, wish(Kind.ARRIVED), rows)

    sweep()
    assert made.stage == Stage.EXECUTED
    assert [row.result for row in made.rows.all()] == ["done", "skipped", "done"]
    assert set(Evidence.objects.values_list("delivery_id", flat=True)) == {rows[0].pk, rows[2].pk}
    assert [row.status for row in deliveries()] == ["delivered", "unknown", "delivered"]


def test_a_void_it_arrived_leaves_no_evidence_and_the_next_worker_delivers_nothing(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)

    with (
        passed_over("ledgers_delivery", "NEW.status = 'delivered'"),
        pytest.raises(VoidError, match="moved at this very moment"),
    ):
        decisions.decide(alice, wish(Kind.ARRIVED), [row])

    sweep()
    made, version = Decision.objects.get(), row.row_version
    row.refresh_from_db()
    assert not Evidence.objects.exists()
    assert (row.status, row.row_version) == ("unknown", version)
    assert (made.stage, made.note) == (Stage.VOID, "the team says so")
    assert told(made, row) == ["decision_request", "decision_void"]
    void = Event.objects.get(kind="decision_void")
    assert void.detail["skipped"] == "it moved at this very moment"
    assert (void.detail["note"], void.detail["link"]) == (made.note, made.link)


def test_the_trail_says_what_became_of_an_approval_that_could_not_be_carried_out(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])
    Credential.objects.update(destination_rules=["room:elsewhere"])

    with pytest.raises(VoidError, match="outside the credential's rules"):
        decisions.approve(bob, asked.pk, "I called them")

    asked.refresh_from_db()
    assert asked.stage == Stage.VOID
    assert told(asked, row) == ["decision_request", "decision_approve", "decision_void"]
    void = Event.objects.get(kind="decision_void")
    assert (void.actor, void.detail["skipped"]) == ("bob", asked.answer)
    assert [one.result for one in DecidedRow.objects.all()] == ["skipped"]
    assert recipient.submissions(ROOM) == 1


# --- What is decided already


def test_who_leaves_what_was_left_is_told_since_when(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    decisions.decide(alice, wish(Kind.LEAVE), [row])
    sweep()

    row.refresh_from_db()
    with pytest.raises(NotAllowedError, match=r"decided already, since \d\d:\d\d:\d\d UTC"):
        decisions.decide(bob, wish(Kind.LEAVE), [row])

    assert [one.requested_by for one in Decision.objects.filter(stage="executed")] == ["alice"]
    assert Event.objects.filter(kind="decide", delivery=row).count() == 1
    assert Event.objects.get(kind="refuse", delivery=row).actor == "bob"


def test_what_was_left_is_left_once_more_when_a_search_has_shown_something_new(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, look_up_schedule=[])
    (row,) = unknown(recipient, arrived=False)
    decisions.decide(alice, wish(Kind.LEAVE), [row])
    searching.look(row.pk, "alice")
    row.refresh_from_db()

    again = decisions.decide(bob, wish(Kind.LEAVE), [row])

    assert again.stage == Stage.EXECUTED


def test_who_sends_again_what_another_has_just_sent_again_is_told_so(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient)
    row = absent(recipient)
    decisions.decide(alice, wish(Kind.SEND_AFTER_ABSENT), [row])
    row.refresh_from_db()

    with pytest.raises(NotAllowedError, match="decided already"):
        decisions.decide(bob, wish(Kind.SEND_AFTER_ABSENT), [row])

    until = row.undo_until
    row.refresh_from_db()
    assert row.undo_until == until
