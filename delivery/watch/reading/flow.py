"""Per channel: what waits and what holds it, what is stuck, and the last success."""

from typing import Any

from django.db import connection

from delivery.silence import LEFT_TO_MACHINES, PROBE, UNAPPROVED
from delivery.watch.figures import Some

SAMPLED = 100  # of what a channel owes, the first due: a long queue is not read to its end
RECENT_MESSAGES, RECENT_DELIVERIES = 50, 1_000

# What is held by the rule, and neither by a person nor because the destination is given a rest.
_HELD_BY_NOBODY = (
    "d.cause LIKE 'held: held: %%' AND d.cause NOT LIKE 'held: held: breaker%%'"
    " AND d.cause NOT LIKE '%%approval required%%'"
)
_FLOW = f"""
SELECT c.id, s.waiting, COALESCE(s.cause, ''), s.held_since, l.last_success,
    k.count, k.since
FROM ledgers_channel c
LEFT JOIN LATERAL (
    SELECT min(owed_from) FILTER (WHERE owed_from <= (SELECT clock_timestamp())) AS waiting,
        min(cause) FILTER (WHERE held) AS cause, min(owed_from) FILTER (WHERE held) AS held_since
    FROM (
        SELECT GREATEST(d.created_at, m.not_before) AS owed_from, d.cause,
            {_HELD_BY_NOBODY} AS held
        FROM (SELECT delivery_id FROM ledgers_outboxitem
            WHERE channel_id = c.id AND {LEFT_TO_MACHINES} ORDER BY due_at LIMIT {SAMPLED}) o
        JOIN ledgers_delivery d ON d.id = o.delivery_id
        JOIN ledgers_message m ON m.id = d.message_id AND m.name <> %(probe)s
        WHERE d.status IN ('pending', 'submitting') AND NOT ({UNAPPROVED})) AS first_due
) s ON true
LEFT JOIN LATERAL (
    SELECT max(acknowledged_at) AS last_success FROM (
        SELECT d.acknowledged_at FROM (
            SELECT id FROM ledgers_message WHERE channel_id = c.id AND name <> %(probe)s
            ORDER BY id DESC LIMIT {RECENT_MESSAGES}) m
        JOIN ledgers_delivery d ON d.message_id = m.id
        LIMIT {RECENT_DELIVERIES}) AS recent
) l ON true
LEFT JOIN LATERAL (
    SELECT count(*) AS count, min(o.due_at) AS since FROM ledgers_outboxitem o
    WHERE o.channel_id = c.id AND o.leased
        AND o.due_at < (SELECT clock_timestamp()) - make_interval(secs => c.grace_s)
) k ON true
WHERE NOT c.for_testing"""


def read() -> dict[int, dict[str, Any]]:
    """By channel, what of its figures this knows."""
    with connection.cursor() as cursor:
        cursor.execute(_FLOW, {"probe": PROBE})
        return {
            channel: {
                "waiting_since": waiting,
                "held": cause.removeprefix("held: held: "),
                "held_since": held_since,
                "last_success": last_success,
                "stuck": Some(stuck, stuck_since),
            }
            for channel, waiting, cause, held_since, last_success, stuck, stuck_since in (
                cursor.fetchall()
            )
        }
