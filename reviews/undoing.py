"""Taking a decision back while nothing has left because of it."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from ledgers import evidence, moves, rulings
from ledgers.clock import database_now
from ledgers.errors import LostWriteError
from ledgers.moves import Change, Held
from ledgers.rulings import Before, By
from ledgers.states import DeliveryStatus
from reviews.carrying import FINISHES
from reviews.kinds import Kind
from reviews.records import DecidedRow

UNDONE = "undone"
_UNSENT = (DeliveryStatus.PENDING, DeliveryStatus.UNKNOWN)


def take_back(kind: Kind, rows: Sequence[DecidedRow], by: By) -> set[int]:
    """Restore rows as they were before a decision of this kind.

    Returns:
        the ids of the decided rows that were restored; for the others it was too late.
    """
    # All of them at once: locks are taken in the order of the ids, older generations first.
    moves.hold(pk for row in rows for pk in (row.delivery_id, row.made_id) if pk)
    gone = _decided_since(rows)
    return _WAYS.get(kind, _restore)([row for row in rows if row.delivery_id not in gone], by)


def _decided_since(rows: Sequence[DecidedRow]) -> set[int]:
    """Deliveries that another decision is in force about: what it set is not theirs to restore."""
    done = DecidedRow.objects.filter(delivery__in=[row.delivery_id for row in rows], result="done")
    later = done.filter(decision__executed_at__gt=rows[0].decision.executed_at) if rows else done
    return set(later.exclude(decision__kind=Kind.LOOK_AGAIN).values_list("delivery_id", flat=True))


def _restore(rows: Sequence[DecidedRow], by: By) -> set[int]:
    held = moves.hold(row.delivery_id for row in rows)
    done = rulings.take_back([_before(row, held[row.delivery_id]) for row in rows], by)
    return {row.pk for row in rows if row.delivery_id in done}


def _before(row: DecidedRow, now: Held) -> Before:
    return Before(now.id, now.version, row.decision_before, row.decided_before)


def _restore_ended(rows: Sequence[DecidedRow], by: By) -> set[int]:
    """What had failed or expired is so again."""
    taken = _restore(rows, by)
    mine = {row.delivery_id: row for row in rows if row.pk in taken}
    held = moves.hold(mine)
    done: set[int] = set()
    for status, finish in FINISHES.items():
        ended = [held[row_id] for row_id, row in mine.items() if row.status == status]
        done |= finish([_undone(one, by) for one in ended])
    _check_all(done, mine)
    return {row.pk for row in mine.values()}


def _remove_generation(rows: Sequence[DecidedRow], by: By) -> set[int]:
    """The generation that was made is cancelled unsent; the one before may go its own way again."""
    made = {row.made_id: row for row in rows if row.made_id}
    held = moves.hold(made)
    taken = rulings.take_back([Before(o.id, o.version, "", None) for o in held.values()], by)
    evidence.withdraw(taken, by.actor, "the decision was taken back")
    fresh = moves.hold(taken)
    _check_all(moves.cancel([_undone(fresh[row_id], by) for row_id in sorted(taken)]), taken)
    bound = sorted(made[pk].delivery_id for pk in taken if not made[pk].withdrawn_before)
    older = moves.hold(bound)
    doubtful = [older[pk] for pk in bound if older[pk].status == DeliveryStatus.UNKNOWN]
    freed = rulings.permit({one.id: one.version for one in doubtful}, by)
    _check_all(freed, [one.id for one in doubtful])
    return {made[pk].pk for pk in taken}


def _rewind(rows: Sequence[DecidedRow], by: By) -> set[int]:
    """What was released is in doubt again: until its undo is over no machine sends it."""
    held = moves.hold(row.delivery_id for row in rows)
    open_ones = [one for one in held.values() if one.status in _UNSENT]
    done = moves.rewind([replace(_undone(one, by), due_at=database_now()) for one in open_ones])
    return {row.pk for row in rows if row.delivery_id in done}


def _check_all(done: set[int], wanted: Collection[int]) -> None:
    """What was in time and is held can be restored, unless a statement of it was lost."""
    if done != set(wanted):
        raise LostWriteError(f"{len(done)} of {len(wanted)} deliveries were restored by an undo")


def _undone(row: Held, by: By) -> Change:
    return Change(
        id=row.id,
        status=DeliveryStatus(row.status),
        version=row.version,
        fence=None,
        rule=UNDONE,
        cause=f"{UNDONE}: a person took the decision back in time",
        actor=by.actor,
    )


_WAYS: dict[Kind, Callable[[Sequence[DecidedRow], By], set[int]]] = {
    Kind.TRY_AGAIN: _restore_ended,
    Kind.SEND_OTHERWISE: _remove_generation,
    Kind.RELEASE: _rewind,
}
