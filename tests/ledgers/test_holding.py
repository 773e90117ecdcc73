"""Rows are held in one order, so that two sets of them never wait for each other."""

from collections.abc import Sequence
from threading import Barrier

import pytest
from django.db import transaction

from ledgers import moves, outbox
from ledgers.models import Delivery
from tests.factories import make_channel, record
from tests.ledgers.connections import other_thread, second_connection, wait_until_blocked
from tests.ledgers.rows import change_of, lease

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def rows() -> list[Delivery]:
    make_channel()
    return record([f"tg:{n}" for n in range(20)])


def test_two_sets_held_in_opposite_orders_wait_for_each_other_and_do_not_deadlock(
    rows: Sequence[Delivery],
) -> None:
    ids = [row.pk for row in rows]
    start = Barrier(2)

    def hold_often(order: list[int]) -> int:
        held = 0
        for _ in range(30):
            start.wait(10)
            with transaction.atomic():
                held += len(moves.hold(order))
        return held

    with other_thread() as thread:
        theirs = thread.submit(hold_often, ids[::-1])
        ours = hold_often(ids)

    assert (ours, theirs.result()) == (600, 600)


def test_a_row_that_is_held_is_waited_for_and_then_seen_as_it_became(
    rows: Sequence[Delivery],
) -> None:
    lease(rows[0])
    change = change_of(rows[0])

    def hold_too() -> str:
        with transaction.atomic():
            return moves.hold([rows[0].pk])[rows[0].pk].status

    with other_thread() as thread, transaction.atomic():
        moves.hold([rows[0].pk])
        theirs = thread.submit(hold_too)
        wait_until_blocked()
        moves.expire([change])

    assert theirs.result() == "expired"


def test_claiming_does_not_wait_for_rows_that_somebody_holds(rows: Sequence[Delivery]) -> None:
    channel = rows[0].message.channel_id

    with other_thread() as thread, transaction.atomic():
        moves.hold(row.pk for row in rows[:5])
        claimed = thread.submit(outbox.claim, {channel: 100}).result(10)

    assert {item.delivery_id for item in claimed} == {row.pk for row in rows[5:]}


def test_items_are_held_before_their_rows_as_the_claim_takes_them(
    rows: Sequence[Delivery],
) -> None:
    # The other way round, the claim below would take the first row's item and wait for its row,
    # while the holder has that row and waits for its item.
    first, second = rows[0].pk, rows[1].pk

    def hold_both() -> set[int]:
        with transaction.atomic():
            return set(moves.hold([first, second]))

    with other_thread() as thread, second_connection() as third:
        third.execute("SELECT FROM ledgers_delivery WHERE id = %s FOR UPDATE", [second])
        held = thread.submit(hold_both)
        wait_until_blocked()
        claimed = outbox.claim({rows[0].message.channel_id: 100})
        third.rollback()

    assert held.result() == {first, second}
    assert {item.delivery_id for item in claimed} == {row.pk for row in rows[2:]}
