"""Per channel that asked for probes: the last one, and since when none was seen."""

from typing import Any

from django.db import connection

from delivery.watch.figures import Probed

_PROBES = """
SELECT c.id, c.probe_every_s, p.recorded_at, p.unseen_since, p.seen_at, COALESCE(p.said, '')
FROM ledgers_channel c LEFT JOIN delivery_probe p ON p.channel_id = c.id
WHERE c.probe_to <> '' AND c.paused_at IS NULL AND NOT c.requires_approval
    AND NOT EXISTS (SELECT FROM ledgers_installation WHERE held_at IS NOT NULL)"""


def read() -> dict[int, dict[str, Any]]:
    """By channel, what of its figures this knows."""
    with connection.cursor() as cursor:
        cursor.execute(_PROBES)
        return {pk: {"probe": Probed(*row)} for pk, *row in cursor.fetchall()}
