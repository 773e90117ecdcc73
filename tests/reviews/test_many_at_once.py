"""One decision about many: the list is frozen, and each row has its own result."""

import pytest

from delivery.simulator.client import Simulator
from ledgers.errors import InvalidValueError
from ledgers.models import Delivery, Event
from reviews import decisions
from reviews.errors import NotAllowedError
from reviews.kinds import Kind
from reviews.people import Person
from reviews.selecting import select
from tests.factories import sweep
from tests.reviews.scenes import (
    BLIND,
    channel,
    let_undo_end,
    unknown,
    wish,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_incident_of_38_is_one_decision_with_a_result_for_each(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    rooms = [f"room:{n}" for n in range(38)]
    rows = unknown(recipient, *rooms, arrived=False)
    asked = decisions.decide(
        alice, wish(Kind.SEND_OTHERWISE, typed="38"), rows, about="the host was down"
    )

    decisions.approve(bob, asked.pk)
    let_undo_end(*Delivery.objects.filter(generation=2))
    sweep()

    assert {row.result for row in asked.rows.all()} == {"done"}
    assert [recipient.effects(room) for room in rooms] == [1] * 38
    assert set(Delivery.objects.values_list("status", flat=True)) <= {"delivered", "unknown"}
    assert Event.objects.filter(kind="decision_approve", detail__decision=asked.pk).count() == 38


def test_what_fell_into_the_incident_after_the_selection_is_not_acted_on(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings=BLIND)
    chosen = unknown(recipient, *(f"room:{n}" for n in range(37)))
    draft = select(alice, {row.pk: row.row_version for row in chosen})
    later = unknown(recipient, *(f"room:late{n}" for n in range(5)), run_id="run-2")

    done = decisions.request(alice, wish(Kind.LEAVE), draft.pk)

    assert done.rows.filter(result="done").count() == 37
    assert not Delivery.objects.filter(pk__in=[r.pk for r in later]).exclude(decision="").exists()
    told = Event.objects.filter(kind="decision_request", detail__decision=done.pk)
    assert set(told.values_list("delivery_id", flat=True)) == {row.pk for row in chosen}


def test_rows_that_moved_are_skipped_with_the_reason_and_the_others_go_on(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings=BLIND)
    rows = unknown(recipient, "room:a", "room:b", "room:c")
    draft = select(alice, {row.pk: row.row_version for row in rows})
    decisions.decide(alice, wish(Kind.ARRIVED), [rows[1]])

    done = decisions.request(alice, wish(Kind.LEAVE), draft.pk)

    assert [row.result for row in done.rows.all()] == ["done", "skipped", "done"]
    assert "moved" in done.rows.all()[1].why


def test_a_selection_is_capped_and_not_empty(alice: Person) -> None:
    with pytest.raises(InvalidValueError, match="1 to 500"):
        select(alice, {})
    with pytest.raises(InvalidValueError, match="are 501"):
        select(alice, dict.fromkeys(range(501), 1))


def test_somebody_elses_selection_cannot_be_decided_about(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    draft = select(alice, {row.pk: row.row_version})

    with pytest.raises(NotAllowedError, match="alice selected this"):
        decisions.request(bob, wish(Kind.LEAVE), draft.pk)
