"""Process starts of workers in the last day, and what each left in doubt."""

from django.db import connection

from delivery.silence import SILENT_S
from delivery.watch.figures import WorkerFigures

MOST = 200

# A shift under a q cluster lives for seconds by design: only those that are alive are of interest.
_WORKERS = f"""
WITH doubt AS (
    -- By what is open now: an index of open attempts would be paid for with every submission.
    SELECT a.worker, count(*) AS count FROM ledgers_delivery d
    JOIN ledgers_attempt a ON a.delivery_id = d.id AND a.closed_at IS NULL
    WHERE d.status IN ('submitting', 'unknown') GROUP BY a.worker
)
SELECT w.name, w.host, w.mode, w.started_at, w.beat_at, w.stopped_at, w.claimed_at,
    w.clock_offset_s,
    COALESCE(q.count, 0)
FROM delivery_worker w LEFT JOIN doubt q ON q.worker = w.name
WHERE w.beat_at > (SELECT clock_timestamp()) - interval '1 day' AND (w.mode = 'resident'
    OR w.beat_at > (SELECT clock_timestamp()) - interval '{SILENT_S} seconds')
ORDER BY w.beat_at DESC LIMIT {MOST}"""


def read() -> tuple[WorkerFigures, ...]:
    """The latest sign of life first."""
    with connection.cursor() as cursor:
        cursor.execute(_WORKERS)
        return tuple(WorkerFigures(*row) for row in cursor.fetchall())
