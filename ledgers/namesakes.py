"""Other deliveries of ours that a provider calls by the same id."""

from collections.abc import Mapping
from uuid import UUID

from django.db import connection


def namesakes(named: Mapping[int, str]) -> dict[int, UUID]:
    """For each attempt, another message's delivery that the id it was answered with belongs to.

    Only where both went: through the same channel, at the same endpoint, to the same destination.
    Another generation of the same part is the same message, and shares its id rightly.

    Args:
        named: ids by attempt, none of them empty; they count for each other, too.

    Returns:
        a delivery by attempt, for those attempts that have one.
    """
    with connection.cursor() as cursor:
        cursor.execute(_NAMESAKES, {"attempts": [*named], "names": [*named.values()]})
        return dict(cursor.fetchall())


_NAMESAKES = """
WITH mine AS MATERIALIZED (
    SELECT a.id, w.named, split_part(a.key_scope, '@', 2) AS endpoint, d.destination,
        m.channel_id, d.message_id, d.part, d.delivery_id
    FROM unnest(%(attempts)s::bigint[], %(names)s::text[]) AS w(id, named)
    JOIN ledgers_attempt a ON a.id = w.id
    JOIN ledgers_delivery d ON d.id = a.delivery_id
    JOIN ledgers_message m ON m.id = d.message_id
)
SELECT w.id, o.delivery_id
FROM mine w
JOIN ledgers_delivery o ON o.provider_message_id = w.named AND o.provider_message_id <> ''
    AND o.destination = w.destination AND (o.message_id, o.part) <> (w.message_id, w.part)
JOIN ledgers_message m ON m.id = o.message_id AND m.channel_id = w.channel_id
WHERE EXISTS (SELECT FROM ledgers_attempt a WHERE a.delivery_id = o.id
    AND split_part(a.key_scope, '@', 2) = w.endpoint)
UNION ALL
SELECT w.id, o.delivery_id
FROM mine w
JOIN mine o ON o.named = w.named AND o.channel_id = w.channel_id AND o.endpoint = w.endpoint
    AND o.destination = w.destination AND (o.message_id, o.part) <> (w.message_id, w.part)"""
