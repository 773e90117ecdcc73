"""Identities, keys and recognizers derived once more, to be held against those that were stored.

They are what a look-up, a provider and a restored ledger go by. Nothing that sends recomputes them;
this only compares.
"""

import uuid
from collections.abc import Iterator
from typing import Any

from django.db import connection

from ledgers.identity import Place, delivery_id, idempotency_key, recognizer

PAGE = 2000  # deliveries per statement: memory stays flat however long the ledger is


def misderived() -> Iterator[tuple[str, str]]:
    """Each delivery that does not stand where its identity says, and what is wrong with it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT namespace, recognizer_secret FROM ledgers_installation")
        namespace, secret = cursor.fetchone()
        last = 0
        while True:
            cursor.execute(_ROWS, [last, PAGE])
            rows = cursor.fetchall()
            if not rows:
                return
            for row in rows:
                if wrong := _wrong(namespace, bytes(secret), row):
                    yield str(row[1]), wrong
            last = rows[-1][0]


def _wrong(namespace: uuid.UUID, secret: bytes, row: tuple[Any, ...]) -> str:
    _, stored, key, token, form, max_length, *place = row
    identity = delivery_id(namespace, Place(*place))
    if stored != identity:
        return f"identity, would be {identity}"
    try:
        expected = idempotency_key(identity, form or "uuid", int(max_length or 255))
    except ValueError as error:
        return f"key, {error}"
    if key != expected:
        return f"key, would be {expected}"
    return "" if token == recognizer(identity, secret) else "recognizer"


_ROWS = """
SELECT d.id, d.delivery_id, d.idempotency_key, d.recognizer, m.contract->'key'->>'form',
    m.contract->'key'->>'max_length', r.run_id, s.step_id, s.version, m.name, c.slug,
    d.destination, d.part, d.generation
FROM ledgers_delivery d
JOIN ledgers_message m ON m.id = d.message_id
JOIN ledgers_channel c ON c.id = m.channel_id
JOIN ledgers_step s ON s.id = m.step_id
JOIN ledgers_run r ON r.id = s.run_id
WHERE d.id > %s ORDER BY d.id LIMIT %s"""
