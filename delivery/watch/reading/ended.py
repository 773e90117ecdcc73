"""Per channel: what failed, expired or is disputed since a day, and nobody has decided about."""

from collections import defaultdict
from typing import Any

from django.db import connection

from delivery.silence import COUNTED, PROBE
from delivery.watch.figures import Some

# Each by a partial index of its own, which the order makes sure of; together one statement.
_KINDS = {
    "failed": "d.status = 'failed' AND d.decision = '' AND d.finished_at > {day}",
    "expired": "d.status = 'expired' AND d.decision = '' AND d.finished_at > {day}",
    "disputed": "d.disputed_at > {day}",
}
_SINCE = {"disputed": "d.disputed_at"}
_DAY = "(SELECT clock_timestamp() - interval '1 day')"
_ONE = """
SELECT '{kind}', m.channel_id, count(*), min(since), max(since) FROM (
    SELECT d.message_id, {since} AS since FROM ledgers_delivery d WHERE {rows}
    ORDER BY 2 DESC LIMIT {counted}) d
JOIN ledgers_message m ON m.id = d.message_id AND m.name <> %(probe)s GROUP BY m.channel_id"""
_ENDED = " UNION ALL ".join(
    _ONE.format(
        kind=kind,
        since=_SINCE.get(kind, "d.finished_at"),
        rows=rows.format(day=_DAY),
        counted=COUNTED,
    )
    for kind, rows in _KINDS.items()
)


def read() -> dict[int, dict[str, Any]]:
    """By channel, what of its figures this knows."""
    found: dict[int, dict[str, Any]] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(_ENDED, {"probe": PROBE})
        for kind, channel, number, since, newest in cursor.fetchall():
            found[channel][kind] = Some(number, since, newest)
    return found
