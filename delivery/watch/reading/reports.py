"""Per channel: what its provider accepted, and never reported anything about.

Only where it reports deliveries: the operator set it up so, or a report of one has come before. A
mail server that reports failures alone says nothing about what went well, and is left out.
"""

from typing import Any

from django.db import connection

from delivery.watch.figures import Reports, Some

JUDGED, AFTER_S = 20, 900
LOST_AFTER_H, LOST_UNTIL_H, LOST_READ = 72, 96, 500

_REPORTING = """
SELECT c.id FROM ledgers_channel c WHERE NOT c.for_testing AND (
    COALESCE(c.settings->>'receipt_secret_ref', '') <> ''
    OR COALESCE(c.settings->>'receipt_topic', '') <> '' OR c.settings->>'receipts' = 'all'
    OR EXISTS (SELECT FROM delivery_receipt r
        WHERE r.channel_id = c.id AND r.kind IN ('accepted', 'delivered')))"""
_UNREPORTED = "NOT EXISTS (SELECT FROM delivery_receipt r WHERE r.delivery_id = d.id)"
_LATEST = f"""
SELECT q.id, count(*), count(*) FILTER (WHERE silent), min(at) FILTER (WHERE silent)
FROM unnest(%(channels)s::bigint[]) AS q(id) CROSS JOIN LATERAL (
    SELECT d.acknowledged_at AS at, {_UNREPORTED} AS silent
    FROM (SELECT id FROM ledgers_message WHERE channel_id = q.id ORDER BY id DESC LIMIT 200) m
    JOIN ledgers_delivery d ON d.message_id = m.id AND d.status = 'delivered'
        AND d.acknowledged_at < (SELECT clock_timestamp()) - interval '{AFTER_S} seconds'
    ORDER BY m.id DESC LIMIT {JUDGED}) AS latest
GROUP BY q.id"""
# By the trail's own index of what deliveries became: their times of acceptance have none.
_LOST = f"""
SELECT m.channel_id, count(*), min(e.at), max(e.at) FROM (
    SELECT delivery_id, at FROM ledgers_event
    WHERE at BETWEEN (SELECT clock_timestamp() - interval '{LOST_UNTIL_H} hours')
        AND (SELECT clock_timestamp() - interval '{LOST_AFTER_H} hours')
        AND to_status = 'delivered' AND from_status <> to_status
        AND to_status IN ('delivered', 'unknown', 'failed', 'expired', 'cancelled')
    ORDER BY at DESC LIMIT {LOST_READ}) e
JOIN ledgers_delivery d ON d.id = e.delivery_id AND d.status = 'delivered'
JOIN ledgers_message m ON m.id = d.message_id AND m.channel_id = ANY(%(channels)s)
WHERE {_UNREPORTED} GROUP BY m.channel_id"""


def read() -> dict[int, dict[str, Any]]:
    """By channel, what of its figures this knows."""
    with connection.cursor() as cursor:
        cursor.execute(_REPORTING)
        channels = {"channels": [pk for (pk,) in cursor.fetchall()]}
        if not channels["channels"]:
            return {}
        cursor.execute(_LOST, channels)
        lost = {pk: Some(*some) for pk, *some in cursor.fetchall()}
        cursor.execute(_LATEST, channels)
        return {
            pk: {"reports": Reports(accepted, unreported, since, lost.get(pk, Some()))}
            for pk, accepted, unreported, since in cursor.fetchall()
        }
