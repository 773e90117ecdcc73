"""Rate limits of channels, kept in the database so that all workers share them."""

from collections.abc import Mapping

from django.db import connection


def reserve(quotas: Mapping[int, int]) -> dict[int, int]:
    """Take tokens for submissions, as many as each channel's rate allows now.

    The bucket holds one second's worth, at least one.

    Args:
        quotas: how many calls are wanted, by the id of channels that have a rate.

    Returns:
        how many may be made, by channel id.
    """
    if not quotas:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_MAKE, [list(quotas)])
        cursor.execute(_TAKE, [list(quotas), list(quotas.values())])
        return dict.fromkeys(quotas, 0) | dict(cursor.fetchall())


def refund(unused: Mapping[int, int]) -> None:
    """Give back tokens that were reserved and led to no submission."""
    spare = {channel: count for channel, count in unused.items() if count > 0}
    if not spare:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE delivery_channelmeter m SET tokens = m.tokens + w.count"
            " FROM unnest(%s::bigint[], %s::int[]) AS w(channel_id, count)"
            " WHERE m.channel_id = w.channel_id",
            [list(spare), list(spare.values())],
        )


# The first claim on a limited channel makes its meter, full.
_MAKE = """
INSERT INTO delivery_channelmeter (channel_id, tokens, refilled_at)
SELECT id, LEAST(GREATEST(rate_per_s, 1), 1e9), clock_timestamp() FROM ledgers_channel
WHERE id = ANY(%s) AND rate_per_s > 0
ON CONFLICT (channel_id) DO NOTHING"""

# What is no rate at all, or none that can be reckoned with, must not be every channel's error.
_RATE = "LEAST(GREATEST(c.rate_per_s, 1e-9), 1e9)"

# The lock on the meter's row serialises workers: the second one sees what the first one took, or,
# while the first has it, gets nothing this time (it may be frozen, and others want to go on). A
# clock that was set back takes nothing away: what was spent is spent once.
_TAKE = f"""
UPDATE delivery_channelmeter m SET tokens = a.available - a.granted, refilled_at = a.now
FROM (
    SELECT f.channel_id, f.available, f.now,
           GREATEST(0, LEAST(f.wanted, floor(f.available)))::int AS granted
    FROM (
        SELECT k.channel_id, w.count AS wanted, clock_timestamp() AS now,
               LEAST(GREATEST({_RATE}, 1), k.tokens + {_RATE} * GREATEST(
                   extract(epoch FROM clock_timestamp() - k.refilled_at)::float8, 0)) AS available
        FROM delivery_channelmeter k
        JOIN ledgers_channel c ON c.id = k.channel_id AND c.rate_per_s > 0
        JOIN unnest(%s::bigint[], %s::int[]) AS w(channel_id, count) ON w.channel_id = k.channel_id
        ORDER BY k.channel_id FOR UPDATE OF k SKIP LOCKED
    ) AS f
) AS a
WHERE m.channel_id = a.channel_id RETURNING m.channel_id, a.granted"""
