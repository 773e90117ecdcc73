"""What one look at the ledgers reads: one statement, on the database's clock."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from delivery.silence import OVERDUE, UNKNOWN_LATE_S


@dataclass(frozen=True, slots=True)
class ChannelFigures:
    """One channel that is not for testing: practice wakes nobody.

    `unknown`: deliveries that are unknown and that nobody has decided to leave so;
    `unknown_newest`: since when the newest of those is that need a person. `overdue`:
    deliveries that are due for longer than the grace, held by no person and taken by no worker;
    `owed_since`: since when the oldest of them is owed, which backing off does not move.
    `refused`: why its provider does not let its credential in, while something waits for that.
    """

    slug: str
    unknown: int = 0
    unknown_since: datetime | None = None
    unknown_newest: datetime | None = None
    overdue: int = 0
    due_at: datetime | None = None
    owed_since: datetime | None = None
    refused: str = ""
    refused_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """How things stood at `now`.

    `beat_at`: the last sign of life of any worker, also of one that has ended since: under a q
    cluster a worker lives for a shift. `installed_at`: what counts where there never was one.
    """

    now: datetime
    installed_at: datetime
    beat_at: datetime | None
    owed: int
    channels: tuple[ChannelFigures, ...] = ()


_FIGURES = f"""
WITH unknown AS (
    SELECT m.channel_id, count(*) AS count, min(d.unknown_since) AS since,
        max(d.unknown_since) FILTER (WHERE d.unknown_since
            <= clock_timestamp() - interval '{UNKNOWN_LATE_S} seconds') AS newest
    FROM ledgers_delivery d JOIN ledgers_message m ON m.id = d.message_id
    WHERE d.status = 'unknown' AND d.decision <> 'leave' GROUP BY m.channel_id
), overdue AS (
    SELECT o.channel_id, count(*) AS count, min(o.due_at) AS due_at, min(d.created_at) AS since
    FROM {OVERDUE} GROUP BY o.channel_id
)
SELECT clock_timestamp(), i.created_at, (SELECT max(beat_at) FROM delivery_worker),
    (SELECT count(*) FROM ledgers_outboxitem WHERE due_at <= clock_timestamp()),
    c.slug, COALESCE(u.count, 0), u.since, u.newest, COALESCE(v.count, 0), v.due_at, v.since,
    COALESCE(r.why, ''), r.since
FROM ledgers_installation i
LEFT JOIN ledgers_channel c ON NOT c.for_testing
LEFT JOIN unknown u ON u.channel_id = c.id
LEFT JOIN overdue v ON v.channel_id = c.id
LEFT JOIN LATERAL (
    SELECT h.why, h.since FROM delivery_credentialhold h
    WHERE h.channel_id = c.id AND EXISTS (
        SELECT 1 FROM ledgers_outboxitem o JOIN ledgers_delivery d ON d.id = o.delivery_id
        WHERE o.channel_id = c.id AND position(h.why IN d.cause) > 0)
    ORDER BY h.since LIMIT 1
) AS r ON true
ORDER BY c.slug"""


def read_figures() -> Figures:
    """How things stand now.

    Raises:
        django.db.Error: the database does not answer, or is not migrated.
        LookupError: it holds no installation.
    """
    with connection.cursor() as cursor:
        cursor.execute(_FIGURES)
        rows = cursor.fetchall()
    if not rows:
        raise LookupError("the row of this installation is missing")
    now, installed_at, beat_at, owed = rows[0][:4]
    channels = tuple(ChannelFigures(*row[4:]) for row in rows if row[4] is not None)
    return Figures(now, installed_at, beat_at, owed, channels)
