"""What was claimed and never called, because the database went away in between: handed back.

The worker that claimed it knows that no byte left. Without a word from it the rows would wait for
their leases' end, and an attempt that had just been committed would make its delivery unknown.
"""

from collections.abc import Mapping

from django.db import connection, transaction

from ledgers import evidence, moves, outbox
from ledgers.evidence import Closing


def hand_back(fences: Mapping[int, int], worker: str) -> None:
    """Close the attempts that were opened under these leases as not tried, and end the leases.

    What came back to its place before the database went away is left there: its lease is over. A
    row that somebody else holds at this moment waits for its lease's end.

    Args:
        fences: by delivery, the lease under which this very process has called nothing.
        worker: its name. A restored database may have given the same fence to another one.

    Raises:
        DatabaseError, InterfaceError: the database is not there yet, or takes no writes.
    """
    if not fences:
        return
    with transaction.atomic():
        held = moves.hold(fences, skip_locked=True)
        mine = {row_id: fences[row_id] for row_id in held}
        opened, others = _opened_under(mine, worker)
        why = "the database went away before it was called"
        evidence.close_attempts(
            [Closing(attempt, "not_tried", "", 0, error=why) for attempt in opened]
        )
        # One that was found abandoned meanwhile is in doubt no more.
        outbox.wake(opened.values())
        outbox.release({row_id: fence for row_id, fence in mine.items() if row_id not in others})


def _opened_under(fences: Mapping[int, int], worker: str) -> tuple[dict[int, int], set[int]]:
    """This worker's open attempts of these leases, by delivery; and deliveries of others'."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT a.id, a.delivery_id, a.worker"
            " FROM unnest(%s::bigint[], %s::bigint[]) AS w(id, fence)"
            " JOIN ledgers_attempt a ON a.delivery_id = w.id AND a.fence = w.fence"
            " WHERE a.closed_at IS NULL",
            [list(fences), list(fences.values())],
        )
        rows = cursor.fetchall()
    mine = {attempt: row_id for attempt, row_id, opener in rows if opener == worker}
    return mine, {row_id for _, row_id, opener in rows if opener != worker}
