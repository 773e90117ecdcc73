"""What the two ledgers and the queue owe each other, in as many rows as one look can read."""

from typing import Any

from django.db import connection

from delivery.silence import COUNTED
from delivery.watch.figures import Some

# Announcements are looked at for a week, and the latest so many of them; see docs/alarms.md.
ANNOUNCED_DAYS, ANNOUNCED_READ = 7, 10_000

_ANNOUNCED = f"""
SELECT count(*), min(s.finished_at), max(s.finished_at),
    count(*) FILTER (WHERE r.status <> 'running')
FROM (
    SELECT id, run_id, announces, finished_at FROM ledgers_step
    WHERE announces <> '[]' ORDER BY id DESC LIMIT {ANNOUNCED_READ}) s
JOIN ledgers_run r ON r.id = s.run_id
WHERE s.finished_at > (SELECT clock_timestamp()) - interval '{ANNOUNCED_DAYS} days' AND EXISTS (
    SELECT FROM jsonb_array_elements_text(s.announces) AS owed(name) WHERE NOT EXISTS (
        SELECT FROM ledgers_message m WHERE m.step_id = s.id AND m.name = owed.name))"""
# Both sides at once and by their ids alone, which indexes have: a queue may be long. What needs a
# machine is as in `ledgers.verify`: whoever waits for a person or another part needs none.
_ORPHANS = """
WITH odd AS MATERIALIZED (
    SELECT d.id AS open_id, o.delivery_id AS queued_id, o.due_at FROM (
        SELECT id FROM ledgers_delivery WHERE status IN ('pending', 'submitting', 'unknown')) d
    FULL JOIN ledgers_outboxitem o ON o.delivery_id = d.id
    WHERE d.id IS NULL OR o.delivery_id IS NULL
)
SELECT count(*), min(d.created_at), max(d.created_at)
FROM odd JOIN ledgers_delivery d ON d.id = odd.open_id
WHERE split_part(d.cause, ':', 1) NOT IN ('blocked', 'left') AND (d.status = 'unknown'
    OR split_part(d.cause, ':', 1) NOT IN ('absent', 'earlier-part', 'too-early'))
UNION ALL
SELECT count(*), min(due_at), max(due_at) FROM odd WHERE open_id IS NULL"""
# By the trail: an index of runs by their status would be paid for with every run.
_CRASH_LOOPS = f"""
SELECT count(*), min(at), max(at) FROM (
    SELECT e.run_id, max(e.at) AS at FROM (
        SELECT run_id, at FROM ledgers_event WHERE kind = 'crash_loop'
        ORDER BY id DESC LIMIT {COUNTED}) e
    JOIN ledgers_run r ON r.id = e.run_id AND r.status = 'crash_loop' GROUP BY e.run_id) AS runs"""


def read() -> dict[str, Any]:
    """What of the figures this knows, by name."""
    with connection.cursor() as cursor:
        cursor.execute(_ANNOUNCED)
        *announced, ended = cursor.fetchone()
        cursor.execute(_ORPHANS)
        unqueued, queued = (Some(*row) for row in cursor.fetchall())
        cursor.execute(_CRASH_LOOPS)
        return {
            "announced": Some(*announced),
            "announced_ended": ended,
            "unqueued": unqueued,
            "queued": queued,
            "crash_loops": Some(*cursor.fetchone()),
        }
