"""The figures of the page about liveness: due against done, the oldest of each, what is missing."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from ledgers.models import Run, Step

HOUR_READ = 10_000
LISTED = 20


@dataclass(frozen=True, slots=True)
class Flow:
    """`due`, `leased`, `expired`: of the queue now. `recorded`, `done`: in the last hour, by what
    became of them.
    """

    queued: int
    due: int
    leased: int
    expired: int
    recorded: int
    done: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Oldest:
    """The oldest delivery of an open status. `number` is counted up to a thousand."""

    status: str
    number: int
    since: datetime | None
    delivery_id: str


_QUEUE = """
SELECT count(*), count(*) FILTER (WHERE NOT leased AND due_at <= now), count(*) FILTER (
    WHERE leased AND due_at > now), count(*) FILTER (WHERE leased AND due_at <= now)
FROM ledgers_outboxitem, (SELECT clock_timestamp() AS now) AS clock"""
# The partial index of what deliveries became is read for the one hour, and no further.
_DONE = """
SELECT to_status, count(*) FROM (
    SELECT to_status FROM ledgers_event
    WHERE at > (SELECT clock_timestamp()) - interval '1 hour' AND from_status <> to_status
        AND to_status IN ('delivered', 'unknown', 'failed', 'expired', 'cancelled')
    ORDER BY at DESC LIMIT %(most)s) AS ends GROUP BY 1 ORDER BY 2 DESC"""
_RECORDED = """
SELECT count(*) FROM (
    SELECT id, created_at FROM ledgers_delivery ORDER BY id DESC LIMIT %(most)s) AS latest
WHERE created_at > (SELECT clock_timestamp()) - interval '1 hour'"""
_OLDEST = """
SELECT count(*), min(since), (array_agg(delivery_id ORDER BY since, id))[1]::text FROM (
    SELECT id, delivery_id, COALESCE(unknown_since, created_at) AS since FROM ledgers_delivery
    WHERE status = %s ORDER BY id LIMIT 1000) AS rows"""


def flow() -> Flow:
    """What is due now, and what was done in the last hour, counted up to ten thousand."""
    most = {"most": HOUR_READ}
    with connection.cursor() as cursor:
        cursor.execute(_QUEUE)
        queued, due, leased, expired = cursor.fetchone()
        cursor.execute(_RECORDED, most)
        (recorded,) = cursor.fetchone()
        cursor.execute(_DONE, most)
        return Flow(queued, due, leased, expired, recorded, tuple(cursor.fetchall()))


def oldest() -> list[Oldest]:
    """Per open status, in the order of a delivery's life."""
    with connection.cursor() as cursor:
        found = []
        for status in ("pending", "submitting", "unknown"):
            cursor.execute(_OLDEST, [status])
            number, since, delivery_id = cursor.fetchone()
            found.append(Oldest(status, number, since, delivery_id or ""))
    return found


def missing() -> list[tuple[Step, list[str]]]:
    """Completed steps with the announced messages that nobody has recorded, the latest first."""
    steps = Step.objects.exclude(announces=[]).filter(status="completed").order_by("-pk")
    rows = steps.select_related("run").prefetch_related("messages")[: 10 * LISTED]
    owing = ((row, _owed(row)) for row in rows)
    return [(row, names) for row, names in owing if names][:LISTED]


def _owed(step: Step) -> list[str]:
    recorded = {one.name for one in step.messages.all()}
    return [name for name in step.announces if name not in recorded]


def crash_loops() -> list[Run]:
    """Runs that a person has to resolve, by the trail, which has an index of rare kinds."""
    looped = Run.objects.filter(status="crash_loop", events__kind="crash_loop")
    return list(looped.distinct().order_by("-pk")[:LISTED])
