"""A guard that fails moves nothing, and disturbs no other row of the set."""

from typing import Any

import pytest

from ledgers import moves, outbox
from ledgers.clock import ClockTimestamp
from ledgers.models import Channel, Delivery, Event, OutboxItem
from ledgers.states import DeliveryStatus as S
from tests.factories import make_channel, make_due
from tests.ledgers.rows import change_of, columns, lease, moment, opening_of, row_in

pytestmark = [pytest.mark.django_db, pytest.mark.unverified_ledgers]

STALE: dict[str, dict[str, Any]] = {
    "an older version": {"version": 0},
    "a newer version": {"version": 99},
    "another fence": {"fence": 1},
    "another status": {"status": S.UNKNOWN},
}


@pytest.fixture(autouse=True)
def alerts() -> Channel:
    return make_channel()


@pytest.mark.parametrize("stale", STALE.values(), ids=STALE)
def test_a_stale_guard_moves_nothing_and_the_others_of_the_set_are_moved(
    stale: dict[str, Any],
) -> None:
    rows = [row_in(S.SUBMITTING, f"run-{n}") for n in range(3)]
    changes = [change_of(row, fence=row.fence, due_at=moment()) for row in rows]
    changes[1] = change_of(rows[1], **{"fence": rows[1].fence, "due_at": moment()} | stale)
    before, trail = columns(rows[1]), Event.objects.count()

    moved = moves.clear(changes)

    assert moved == {rows[0].pk, rows[2].pk}
    assert columns(rows[1]) == before
    assert Event.objects.count() == trail + 2
    assert Delivery.objects.filter(pk__in=moved, status=S.PENDING).count() == 2


@pytest.mark.parametrize("stale", STALE.values(), ids=STALE)
def test_a_stale_guard_writes_no_attempt_ahead(stale: dict[str, Any]) -> None:
    rows = [row_in(S.PENDING, f"run-{n}") for n in range(3)]
    lease(*rows)
    openings = [opening_of(rows[0]), opening_of(rows[1], **stale), opening_of(rows[2])]

    opened = moves.begin(openings)

    assert set(opened) == {rows[0].pk, rows[2].pk}
    rows[1].refresh_from_db()
    assert (rows[1].status, rows[1].attempt_count) == (S.PENDING, 0)


def test_no_attempt_is_written_ahead_when_the_lease_is_over() -> None:
    row = row_in(S.PENDING)
    lease(row)
    make_due()

    opened = moves.begin([opening_of(row)])

    assert opened == {}


def test_a_lease_that_ended_since_the_transaction_began_is_over() -> None:
    row = row_in(S.PENDING)
    lease(row)
    OutboxItem.objects.update(due_at=ClockTimestamp())  # which `now()` has not reached

    told, opened = moves.hold([row.pk])[row.pk].leased, moves.begin([opening_of(row)])

    assert (told, opened) == (False, {})


def test_no_attempt_is_written_ahead_when_nobody_leased_the_item() -> None:
    row = row_in(S.PENDING)

    opened = moves.begin([opening_of(row)])

    assert opened == {}


def test_an_empty_set_moves_nothing() -> None:
    assert (moves.begin([]), moves.accept([]), outbox.postpone([])) == ({}, set(), set())


def test_a_move_without_a_lease_leaves_the_time_of_a_leased_item_alone() -> None:
    row = row_in(S.UNKNOWN)
    lease(row)
    before = columns(row)

    moves.clear([change_of(row, due_at=moment())])

    after = columns(row)
    assert after["status"] == S.PENDING
    assert after["item"] == before["item"]


def test_holding_rows_tells_status_fence_version_and_lease() -> None:
    leased, free = row_in(S.SUBMITTING, "run-1"), row_in(S.PENDING, "run-2")

    held = moves.hold([leased.pk, free.pk, 10**9])

    assert set(held) == {free.pk, leased.pk}
    assert (held[leased.pk].status, held[leased.pk].leased) == (S.SUBMITTING, True)
    assert held[leased.pk].fence == leased.fence
    assert not held[free.pk].leased
