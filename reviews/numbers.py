"""Numbers per channel, in one statement that reads no more than it shows."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from delivery.silence import COUNTED, PROBE

RECENT = 200  # messages of a channel among which its last success is looked for


@dataclass(frozen=True, slots=True)
class ChannelNumbers:
    """`last_success`: among the channel's latest messages; None if none of them was delivered."""

    channel_id: int
    owed: int
    oldest_owed: datetime | None
    unknown: int
    used: bool
    last_success: datetime | None

    @property
    def owed_shown(self) -> str:
        return _capped(self.owed)

    @property
    def unknown_shown(self) -> str:
        return _capped(self.unknown)


def _capped(count: int) -> str:
    return f"{COUNTED - 1}+" if count >= COUNTED else str(count)


_PER_CHANNEL = """
WITH unknown AS (
    -- The channel of each by itself: joined, all messages would be read for a thousand of them.
    SELECT channel_id, count(*) AS count FROM (
        SELECT (SELECT channel_id FROM ledgers_message m WHERE m.id = d.message_id)
        FROM ledgers_delivery d WHERE status = 'unknown'
        ORDER BY unknown_since LIMIT %(counted)s) u
    GROUP BY channel_id
)
SELECT c.id, o.count, o.oldest, COALESCE(u.count, 0), r.used, r.last_success
FROM ledgers_channel c
LEFT JOIN unknown u ON u.channel_id = c.id
CROSS JOIN LATERAL (
    SELECT count(*), min(due_at) AS oldest FROM (
        SELECT due_at FROM ledgers_outboxitem WHERE channel_id = c.id
        ORDER BY due_at LIMIT %(counted)s) q
) o
CROSS JOIN LATERAL (
    SELECT count(*) > 0 AS used, max(d.acknowledged_at) AS last_success FROM (
        SELECT id FROM ledgers_message WHERE channel_id = c.id AND name <> %(probe)s
        ORDER BY id DESC LIMIT %(recent)s) m
    JOIN ledgers_delivery d ON d.message_id = m.id
) r"""


def per_channel() -> dict[int, ChannelNumbers]:
    """The numbers of every channel, by its id."""
    with connection.cursor() as cursor:
        cursor.execute(_PER_CHANNEL, {"counted": COUNTED, "recent": RECENT, "probe": PROBE})
        return {row[0]: ChannelNumbers(*row) for row in cursor.fetchall()}
