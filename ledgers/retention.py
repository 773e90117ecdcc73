"""Purging: the records of runs that are over leave the ledgers, by a receipt and tombstones.

What may go is decided in the database (`ledgers_kept_because`), whoever asks: every delivery of the
run came to rest before the policy's line and its key protects no more; nothing is disputed,
undecided, owed or queued; and all of it is sealed. The rows go in batches, each a transaction of
its own, and nobody else's rows are held meanwhile.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db import IntegrityError, OperationalError, connection, transaction
from psycopg.errors import LockNotAvailable

from ledgers.models import Purge
from ledgers.proofs import Row, changed

BATCH_RUNS = 200
BATCH_DELIVERIES = 500  # of several runs together; one run is never divided
LOCK_TIMEOUT = "2s"


@dataclass(frozen=True, slots=True)
class Batch:
    """Runs that may go together, by number, and those that were looked at and are kept, with why.

    `last`: the number of the last run that was looked at.
    """

    runs: tuple[int, ...]
    kept: tuple[tuple[str, str], ...]
    deliveries: int
    last: int


def batches(policy_s: float) -> Iterator[Batch]:
    """Everything that ended before the policy's line, the oldest first; looks at it only.

    Args:
        policy_s: seconds since each run and delivery came to rest, at least a day.
    """
    last = 0
    while ended := _ended(policy_s, last):
        last = ended[-1][0]
        kept = dict(_kept([pk for pk, _, _ in ended], policy_s))
        names = {pk: name for pk, name, _ in ended}
        free = tuple(pk for pk, _, _ in ended if pk not in kept)
        whys = tuple((names[pk], why) for pk, why in kept.items())
        size = sum(number for pk, _, number in ended if pk not in kept)
        yield Batch(free, whys, size, last)


def _ended(policy_s: float, after: int) -> list[tuple[int, str, int]]:
    """The next runs that are over, with how many deliveries each has: few enough for a batch."""
    with connection.cursor() as cursor:
        cursor.execute(_ENDED, {"policy": policy_s, "after": after, "runs": BATCH_RUNS})
        rows = cursor.fetchall()
    chosen: list[tuple[int, str, int]] = []
    total = 0
    for row in rows:
        total += row[2]
        if chosen and total > BATCH_DELIVERIES:
            break
        chosen.append(row)
    return chosen


_ENDED = """
SELECT r.id, r.run_id, (
    SELECT count(*) FROM ledgers_delivery d JOIN ledgers_message m ON m.id = d.message_id
    JOIN ledgers_step s ON s.id = m.step_id WHERE s.run_id = r.id)
FROM (
    SELECT id, run_id FROM ledgers_run
    WHERE id > %(after)s AND finished_at <= (
        SELECT clock_timestamp() - make_interval(secs => %(policy)s))
    ORDER BY id LIMIT %(runs)s) AS r
ORDER BY r.id"""


def _kept(runs: Sequence[int], policy_s: float) -> list[tuple[int, str]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT ON (run) run, why FROM ledgers_kept_because(%s, %s) ORDER BY run, why",
            [list(runs), policy_s],
        )
        return [(run, why) for run, why in cursor.fetchall()]


def purge(
    runs: Sequence[int], policy_s: float, actor: str, reason: str
) -> tuple[list[Purge], list[tuple[str, str]]]:
    """Purge these runs in one transaction, or, if one of them may not go, each in its own.

    A run whose rows are not what was sealed is kept: its purge would remove the proof of that.

    Returns:
        the receipts, and the runs that are kept all the same, each with why.
    """
    try:
        return [_purge(runs, policy_s, actor, reason)], []
    except (IntegrityError, OperationalError, _ChangedError) as error:
        if len(runs) == 1:
            return [], [(_name(runs[0]), _words(error))]
    receipts: list[Purge] = []
    kept: list[tuple[str, str]] = []
    for run in runs:
        made, left = purge([run], policy_s, actor, reason)
        receipts, kept = receipts + made, kept + left
    return receipts, kept


def _words(error: Exception) -> str:
    """Raises the error itself where it is none of a run that must be kept."""
    if isinstance(error, OperationalError):
        if not isinstance(error.__cause__, LockNotAvailable):
            raise error
        return "somebody else holds a row of it"
    text = str(error).splitlines()[0]
    return text.partition(" is kept: ")[2] or text


class _ChangedError(Exception):
    """A row is not what was sealed."""


def _purge(runs: Sequence[int], policy_s: float, actor: str, reason: str) -> Purge:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
        if wrong := changed(_rows(runs)):
            kind, number = wrong[0]
            raise _ChangedError(f"{kind} {number} is not what was sealed")
        cursor.execute(
            "SELECT ledgers_purge(%s, %s, %s, %s)", [list(runs), policy_s, actor, reason]
        )
        return Purge.objects.get(pk=cursor.fetchone()[0])


def _rows(runs: Sequence[int]) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, {"runs": list(runs)})
        return [(kind, number) for kind, number in cursor.fetchall()]


_ROWS = """
WITH d AS (
    SELECT d.id FROM ledgers_delivery d JOIN ledgers_message m ON m.id = d.message_id
    JOIN ledgers_step s ON s.id = m.step_id WHERE s.run_id = ANY (%(runs)s))
SELECT 'event', e FROM ledgers_events_of(%(runs)s) e
UNION ALL SELECT 'attempt', a.id FROM ledgers_attempt a JOIN d ON d.id = a.delivery_id
    WHERE a.closed_at IS NOT NULL
UNION ALL SELECT 'evidence', v.id FROM ledgers_evidence v JOIN d ON d.id = v.delivery_id"""


def _name(run: int) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT run_id FROM ledgers_run WHERE id = %s", [run])
        found = cursor.fetchone()
    return str(found[0]) if found else f"number {run}"
