"""The installation, and what is unknown, overdue or refused on each channel: one statement."""

from django.db import connection

from delivery.silence import (
    COUNTED,
    KEY_CLOSES,
    LEFT_TO_MACHINES,
    PACED,
    PROBE,
    UNAPPROVED,
    UNKNOWN_LATE_S,
)
from delivery.watch.figures import ChannelFigures, Figures, Some

# As in the console: what a person left as it is asks nobody any more, and a probe asks no person.
_WHOLE = f"""
WITH unknown AS MATERIALIZED (
    SELECT m.channel_id, count(*) AS count, min(d.unknown_since) AS since,
        max(d.unknown_since) FILTER (WHERE d.unknown_since
            <= clock_timestamp() - interval '{UNKNOWN_LATE_S} seconds') AS newest,
        count(*) FILTER (WHERE soon.closes) AS closing, min(at.closes) FILTER (WHERE soon.closes)
            AS closes
    FROM ledgers_delivery d JOIN ledgers_message m ON m.id = d.message_id
    JOIN ledgers_channel c ON c.id = m.channel_id
    CROSS JOIN LATERAL (SELECT {KEY_CLOSES} AS closes) at
    CROSS JOIN LATERAL (SELECT at.closes BETWEEN (SELECT clock_timestamp())
        AND (SELECT clock_timestamp()) + interval '1 hour' AS closes) soon
    WHERE d.status = 'unknown' AND d.decision <> 'leave' AND m.name <> %(probe)s
    GROUP BY m.channel_id
), overdue AS MATERIALIZED (  -- once, and not for every channel anew
    SELECT c.id AS channel_id, q.* FROM ledgers_channel c CROSS JOIN LATERAL (
        SELECT count(*) AS count, min(o.due_at) AS due_at, min(d.created_at) AS since FROM (
            SELECT delivery_id, due_at FROM ledgers_outboxitem
            WHERE channel_id = c.id AND NOT leased
                AND due_at < (SELECT clock_timestamp()) - make_interval(secs => c.grace_s)
            ORDER BY due_at LIMIT {COUNTED}) o
        JOIN ledgers_delivery d ON d.id = o.delivery_id WHERE NOT ({UNAPPROVED})) q
    WHERE {LEFT_TO_MACHINES} AND q.count > 0
)
SELECT clock_timestamp(), i.created_at, (SELECT max(beat_at) FROM delivery_worker),
    (SELECT count(*) FROM ledgers_outboxitem WHERE due_at <= (SELECT clock_timestamp())),
    (SELECT count(*) FROM ledgers_outboxitem
        WHERE leased AND due_at > (SELECT clock_timestamp())),
    c.id, c.slug, c.grace_s, c.period_s, c.expected_every_s, {PACED},
    c.created_at,
    COALESCE(u.count, 0), u.since, u.newest, COALESCE(v.count, 0), v.due_at, v.since,
    COALESCE(r.why, ''), r.since, COALESCE(u.closing, 0), u.closes
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
) AS r ON true"""
_CHANNEL = (
    "slug", "grace_s", "period_s", "expected_every_s", "paced", "created_at", "unknown",
    "unknown_since",
    "unknown_newest", "overdue", "due_at", "owed_since", "refused", "refused_since",
)  # fmt: skip


def read() -> tuple[Figures, dict[int, ChannelFigures]]:
    """The whole, and the channels by their ids.

    Raises:
        LookupError: there is no installation, or the database takes no writes.
    """
    with connection.cursor() as cursor:
        cursor.execute(_WHOLE, {"probe": PROBE})
        rows = cursor.fetchall()
        cursor.execute("SELECT current_setting('transaction_read_only')::bool")
        if cursor.fetchone()[0]:
            raise LookupError("it takes no writes, as a standby after a failover does")
    if not rows:
        raise LookupError("the row of this installation is missing")
    now, installed_at, beat_at, owed, leased = rows[0][:5]
    channels = {row[5]: _channel(row[6:]) for row in rows if row[5] is not None}
    return Figures(now, installed_at, beat_at, owed, leased=leased), channels


def _channel(columns: tuple[object, ...]) -> ChannelFigures:
    *named, closing, closes = columns
    values = dict(zip(_CHANNEL, named, strict=True))
    return ChannelFigures(**values, closing=Some(closing, closes))  # type: ignore[arg-type]
