"""What people decided, as facts on the rows: guarded, versioned, told in the trail."""

from datetime import timedelta
from uuid import uuid4

import pytest

from ledgers import moves, outbox, rulings
from ledgers.models import Channel, Delivery, OutboxItem
from ledgers.rulings import Before, By, Successor
from ledgers.states import DeliveryStatus as S
from tests.factories import make_channel
from tests.ledgers.rows import change_of, columns, last_event, lease, moment, row_in

pytestmark = [pytest.mark.django_db, pytest.mark.unverified_ledgers]

BY = By("alice", {"reason": "the figures are needed"})


@pytest.fixture(autouse=True)
def alerts() -> Channel:
    return make_channel()


def unknown(run_id: str = "run-1") -> Delivery:
    """An unknown row that nobody holds."""
    row = row_in(S.UNKNOWN, run_id)
    OutboxItem.objects.filter(pk=row.pk).update(leased=False, due_at=moment())
    return row


def seen(row: Delivery) -> dict[int, int]:
    row.refresh_from_db()
    return {row.pk: row.row_version}


def successor_of(row: Delivery) -> Successor:
    row.refresh_from_db()
    name = uuid4()
    return Successor(row.pk, row.row_version, name, "hash", f"key-{name}", f"dlv{name.hex[:20]}")


def test_a_decision_raises_the_version_and_is_told_with_its_reason() -> None:
    row = unknown()
    before = row.row_version

    done = rulings.decide(seen(row), "leave", BY)

    row.refresh_from_db()
    event = last_event(row)
    assert done == {row.pk}
    assert (row.decision, row.row_version, row.undo_until) == ("leave", before + 1, None)
    assert (event.kind, event.actor, event.detail) == ("decide", "alice", BY.detail)
    assert (event.row_version, event.from_status, event.to_status) == (
        before + 1,
        "unknown",
        "unknown",
    )


def test_a_decision_about_an_older_version_changes_nothing() -> None:
    row = unknown()
    old = {row.pk: row.row_version - 1}
    before = columns(row)

    assert not rulings.decide(old, "send_again", BY, undo_s=30)
    assert not rulings.look_again(old, moment(), BY)
    assert not rulings.permit(old, BY)
    assert columns(row) == before


def test_no_decision_is_made_about_what_is_on_the_wire() -> None:
    row = row_in(S.SUBMITTING)

    assert not rulings.decide(seen(row), "send_again", BY, undo_s=30)


def test_what_may_be_taken_back_is_due_when_it_may_not_any_more() -> None:
    row = unknown()

    rulings.decide(seen(row), "send_again", BY, undo_s=30)

    row.refresh_from_db()
    assert row.undo_until is not None
    assert OutboxItem.objects.get(pk=row.pk).due_at == row.undo_until > moment()


def test_a_leased_item_keeps_its_time_when_a_person_decides() -> None:
    row = unknown()
    lease(row)
    due_at = OutboxItem.objects.get(pk=row.pk).due_at

    rulings.decide(seen(row), "send_again", BY, undo_s=30)

    item = OutboxItem.objects.get(pk=row.pk)
    assert (item.leased, item.due_at) == (True, due_at)


def test_taking_back_restores_what_was_in_force_and_only_in_time() -> None:
    row, late = unknown(), unknown("run-2")
    rulings.decide(seen(row), "leave", BY)
    row.refresh_from_db()
    earlier = row.decided_at
    rulings.decide(seen(row), "send_again", BY, undo_s=30)
    rulings.decide(seen(late), "send_again", BY, undo_s=0)

    done = rulings.take_back(
        [
            Before(row.pk, seen(row)[row.pk], "leave", earlier),
            Before(late.pk, seen(late)[late.pk], "", None),
        ],
        BY,
    )

    row.refresh_from_db()
    late.refresh_from_db()
    assert done == {row.pk}
    assert (row.decision, row.decided_at, row.undo_until) == ("leave", earlier, None)
    assert last_event(row).kind == "take_back"
    assert late.decision == "send_again"


def test_a_search_that_is_asked_for_moves_nothing_to_a_later_time() -> None:
    asked, sooner = unknown(), unknown("run-2")
    OutboxItem.objects.filter(pk=asked.pk).delete()
    at = moment() + timedelta(hours=1)

    done = rulings.look_again(seen(asked) | seen(sooner), at, BY)

    asked.refresh_from_db()
    assert done == {asked.pk, sooner.pk}
    assert asked.look_again_at == OutboxItem.objects.get(pk=asked.pk).due_at == at
    assert OutboxItem.objects.get(pk=sooner.pk).due_at < at
    assert last_event(asked).kind == "look_again"


def test_a_search_is_asked_for_only_of_what_is_unknown() -> None:
    row = row_in(S.DELIVERED)

    assert not rulings.look_again(seen(row), moment(), BY)


def test_the_next_generation_has_an_identity_of_its_own_and_the_one_before_is_withdrawn() -> None:
    row = unknown()
    next_ = successor_of(row)

    made = rulings.add_generations([next_], BY, undo_s=30)

    row.refresh_from_db()
    new = Delivery.objects.get(pk=made[row.pk])
    assert row.withdrawn_at is not None
    assert last_event(row).kind == "withdraw"
    assert (new.generation, new.status, new.decision) == (2, "pending", "send_again")
    assert (new.delivery_id, new.idempotency_key) == (next_.delivery_id, next_.key)
    assert new.undo_until is not None
    assert OutboxItem.objects.get(pk=new.pk).due_at == new.undo_until > moment()
    assert (last_event(new).kind, last_event(new).to_status) == ("record", "pending")


def test_a_generation_has_at_most_one_successor() -> None:
    row = unknown()
    rulings.add_generations([successor_of(row)], BY, undo_s=30)

    assert rulings.add_generations([successor_of(row)], BY, undo_s=30) == {}
    assert Delivery.objects.count() == 2


def test_a_withdrawal_is_lifted_by_name() -> None:
    row = unknown()
    rulings.add_generations([successor_of(row)], BY, undo_s=30)

    assert rulings.permit(seen(row), BY) == {row.pk}

    row.refresh_from_db()
    assert row.withdrawn_at is None
    assert last_event(row).kind == "permit"


def test_a_reissue_may_be_taken_back_until_it_is_due() -> None:
    row = row_in(S.FAILED)
    moves.reissue([change_of(row, due_at=moment() + timedelta(seconds=30))])

    done = rulings.take_back([Before(row.pk, seen(row)[row.pk], "", None)], BY)

    row.refresh_from_db()
    assert done == {row.pk}
    assert row.decision == ""


def test_what_is_proven_of_one_generation_wakes_the_others() -> None:
    row = unknown()
    made = rulings.add_generations([successor_of(row)], BY, undo_s=30)
    OutboxItem.objects.filter(pk=row.pk).delete()

    outbox.wake_generations([made[row.pk]])

    assert OutboxItem.objects.get(pk=row.pk).due_at <= moment()
