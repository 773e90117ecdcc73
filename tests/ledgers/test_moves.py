"""The moves, walked over every pair of statuses: what the table allows happens, and only that."""

from collections.abc import Callable, Sequence

import pytest

from ledgers import evidence, moves, states
from ledgers.models import Attempt, Channel, Delivery, Event
from ledgers.moves import Change
from ledgers.states import DeliveryStatus as S
from tests.factories import make_channel
from tests.ledgers.rows import (
    change_of,
    columns,
    events_of,
    last_event,
    lease,
    moment,
    opening_of,
    row_in,
)

pytestmark = [pytest.mark.django_db, pytest.mark.unverified_ledgers]

Mover = Callable[[Sequence[Change]], set[int]]
MOVERS: dict[states.Move, Mover] = {
    states.ACCEPT: moves.accept,
    states.SUSPECT: moves.suspect,
    states.REWIND: moves.rewind,
    states.CLEAR: moves.clear,
    states.FAIL: moves.fail,
    states.EXPIRE: moves.expire,
    states.CANCEL: moves.cancel,
    states.REISSUE: moves.reissue,
}
PAIRS = [(move, status) for move in MOVERS for status in S]
ALLOWED = [(move, status) for move, status in PAIRS if status in move.sources]
REFUSED = [(move, status) for move, status in PAIRS if status not in move.sources]
NEEDS_A_MACHINE = {states.SUSPECT, states.REWIND, states.CLEAR, states.REISSUE}


@pytest.fixture(autouse=True)
def alerts() -> Channel:
    return make_channel()


def prepared(move: states.Move, status: S, run_id: str = "run-1") -> tuple[Delivery, Change]:
    """A row in this status, and the change that the move would make of it."""
    row = row_in(status, run_id)
    if move is states.CANCEL:
        evidence.withdraw([row.pk], "tester", "not wanted")
    due_at = moment() if move in NEEDS_A_MACHINE else None
    return row, change_of(row, due_at=due_at, inputs='{"seen":1}')


def test_every_move_of_the_table_has_its_one_function() -> None:
    assert {*MOVERS, states.RECORD, states.BEGIN} == set(states.MOVES)


@pytest.mark.parametrize(("move", "source"), ALLOWED, ids=str)
def test_a_move_of_the_table_changes_the_row_and_writes_one_event(
    move: states.Move, source: S
) -> None:
    row, change = prepared(move, source)
    before = events_of(row)

    moved = MOVERS[move]([change])

    row.refresh_from_db()
    event = last_event(row)
    assert moved == {row.pk}
    assert (row.status, row.cause, row.row_version) == (
        move.target,
        "tested: because",
        change.version + 1,
    )
    assert len(events_of(row)) == len(before) + 1
    assert (event.kind, event.from_status, event.to_status) == (move.name, source, move.target)
    assert (event.rule, event.inputs, event.actor) == ("tested", '{"seen":1}', "tester")
    assert event.row_version == row.row_version
    assert hasattr(row, "outbox_item") == (move in NEEDS_A_MACHINE)


@pytest.mark.parametrize(("move", "source"), REFUSED, ids=str)
def test_a_move_that_is_not_in_the_table_changes_nothing(move: states.Move, source: S) -> None:
    row, change = prepared(move, source)
    before, trail = columns(row), Event.objects.count()

    moved = MOVERS[move]([change])

    assert moved == set()
    assert columns(row) == before
    assert Event.objects.count() == trail


@pytest.mark.parametrize("source", list(S))
def test_an_attempt_is_written_ahead_only_from_pending_and_unknown(source: S) -> None:
    row = row_in(source)
    attempts = row.attempt_count
    if source in states.OPEN:
        lease(row)

    opened = moves.begin([opening_of(row)])

    row.refresh_from_db()
    allowed = source in states.BEGIN.sources
    assert set(opened) == ({row.pk} if allowed else set())
    assert row.attempt_count == attempts + allowed
    assert row.status == (S.SUBMITTING if allowed else source)


def test_what_is_written_ahead_freezes_key_bytes_fence_and_lease() -> None:
    row = row_in(S.PENDING)
    lease(row)

    opened = moves.begin([opening_of(row)])[row.pk]

    row.refresh_from_db()
    attempt = Attempt.objects.get(pk=opened.attempt_id)
    item = row.outbox_item
    assert (attempt.idempotency_key, attempt.body_hash) == (row.idempotency_key, row.body_hash)
    assert (attempt.fence, attempt.lease_until) == (row.fence, item.due_at)
    assert (attempt.number, attempt.outcome, attempt.closed_at) == (1, "", None)
    assert row.key_first_used_at is not None
    assert last_event(row).attempt_id == attempt.pk


def test_the_first_use_of_the_key_is_kept_by_later_attempts() -> None:
    row = row_in(S.UNKNOWN)
    first = row.key_first_used_at
    lease(row)

    moves.begin([opening_of(row)])

    row.refresh_from_db()
    assert row.attempt_count == 2
    assert row.key_first_used_at == first


@pytest.mark.parametrize("source", states.ACCEPT.disputes)
def test_an_acceptance_that_contradicts_the_row_is_flagged_as_disputed(source: S) -> None:
    row = row_in(source)

    moves.accept([change_of(row)])

    row.refresh_from_db()
    assert row.status == S.DELIVERED
    assert row.disputed_at is not None


@pytest.mark.parametrize("source", [S.SUBMITTING, S.UNKNOWN])
def test_an_acceptance_that_was_possible_all_along_is_not_disputed(source: S) -> None:
    row = row_in(source)

    moves.accept([change_of(row)])

    row.refresh_from_db()
    assert row.status == S.DELIVERED
    assert row.disputed_at is None


def test_a_reissue_keeps_what_happened_and_starts_anew() -> None:
    row = row_in(S.FAILED)

    moves.reissue([change_of(row, due_at=moment())])

    row.refresh_from_db()
    assert (row.status, row.decision, row.attempt_count) == (S.PENDING, "try_again", 1)
    assert row.decided_at is not None
    assert row.finished_at is None


def test_a_cause_longer_than_its_column_is_cut_and_does_not_stop_the_move() -> None:
    row = row_in(S.PENDING)

    moves.expire([change_of(row, cause="x" * 1000)])

    row.refresh_from_db()
    assert row.cause == "x" * 300
