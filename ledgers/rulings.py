"""What people decided about deliveries, as facts on their rows. Each raises the row's version.

Nothing here writes a status: what follows from a decision is for the rules to say, through
`ledgers.moves`. Every function works on a set of rows that the caller holds (`moves.hold`), guards
each with the version that the person saw, and gives the ids that it changed; for the others
something moved meanwhile, and the decision is not about what they are now.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from ledgers.canonical import Json

Versions = Mapping[int, int]  # a row's id, and the version that the person saw


@dataclass(frozen=True, slots=True)
class By:
    """Who decided, and what the trail keeps of it (reason, ticket, the decision's number)."""

    actor: str
    detail: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Before:
    """What a row said before a decision, to be put back. `version`: the row's version now."""

    id: int
    version: int
    decision: str
    decided_at: datetime | None


@dataclass(frozen=True, slots=True)
class Successor:
    """The next generation of a row (`id`, seen at `version`): an identity of its own."""

    id: int
    version: int
    delivery_id: UUID
    body_hash: str
    key: str
    recognizer: str


def decide(rows: Versions, decision: str, by: By, *, undo_s: float | None = None) -> set[int]:
    """Set the decision in force.

    Args:
        rows: which, as the person saw them.
        decision: `send_again`, `try_again` or `leave`.
        by: who and why.
        undo_s: seconds for which it may be taken back; no machine acts on it before. None: it
            stands at once.
    """
    return _changed(
        _DECIDE, _versions(rows) | {"decision": decision, "undo_s": undo_s}, "decide", by
    )


# An item under a lease keeps its time: its holder finds the new version and decides again.
_QUEUE = """
queued AS (
    INSERT INTO ledgers_outboxitem (delivery_id, channel_id, due_at, leased)
    SELECT t.id, m.channel_id, t.due_at, false
    FROM told t JOIN ledgers_message m ON m.id = t.message_id
    WHERE t.status IN ('pending', 'submitting', 'unknown')
    ON CONFLICT (delivery_id) DO UPDATE SET due_at = {due}, leased = false
    WHERE NOT ledgers_outboxitem.leased OR ledgers_outboxitem.due_at <= clock_timestamp()
)"""

_LOG = """
logged AS (
    INSERT INTO ledgers_event (at, kind, delivery_id, from_status, to_status, row_version, rule,
                               inputs, actor, detail)
    SELECT clock_timestamp(), %(kind)s, t.id, t.status, t.status, t.row_version, '', '',
           %(actor)s, %(detail)s::jsonb
    FROM told t
)"""

_WANT = "w AS (SELECT * FROM unnest(%(id)s::bigint[], %(version)s::int[]) AS w(id, version))"

_DECIDE = f"""
WITH {_WANT},
told AS (
    UPDATE ledgers_delivery d
    SET decision = %(decision)s, decided_at = clock_timestamp(), row_version = d.row_version + 1,
        undo_until = clock_timestamp() + make_interval(secs => %(undo_s)s)
    FROM w WHERE d.id = w.id AND d.row_version = w.version AND d.status <> 'submitting'
    RETURNING d.id, d.message_id, d.status, d.row_version,
        COALESCE(d.undo_until, clock_timestamp()) AS due_at
),{_LOG},{_QUEUE.format(due="EXCLUDED.due_at")}
SELECT id FROM told"""


def take_back(rows: Sequence[Before], by: By) -> set[int]:
    """Put back what was in force before a decision, while no machine may have acted on it."""
    columns = {f.name: [getattr(row, f.name) for row in rows] for f in fields(Before)}
    return _changed(_TAKE_BACK, columns, "take_back", by)


_TAKE_BACK = f"""
WITH w AS (
    SELECT * FROM unnest(%(id)s::bigint[], %(version)s::int[], %(decision)s::text[],
        %(decided_at)s::timestamptz[]) AS w(id, version, decision, decided_at)
),
told AS (
    UPDATE ledgers_delivery d
    SET decision = w.decision, decided_at = w.decided_at, undo_until = NULL,
        row_version = d.row_version + 1
    FROM w WHERE d.id = w.id AND d.row_version = w.version AND d.status IN ('pending', 'unknown')
      AND d.decision IN ('send_again', 'try_again') AND d.undo_until > clock_timestamp()
    RETURNING d.id, d.message_id, d.status, d.row_version, clock_timestamp() AS due_at
),{_LOG},{_QUEUE.format(due="EXCLUDED.due_at")}
SELECT id FROM told"""


def look_again(rows: Versions, at: datetime, by: By) -> set[int]:
    """Ask for one more search of the destination; what is due earlier stays due earlier."""
    return _changed(_LOOK, _versions(rows) | {"at": at}, "look_again", by)


_LOOK = f"""
WITH {_WANT},
told AS (
    UPDATE ledgers_delivery d
    SET look_again_at = %(at)s, row_version = d.row_version + 1,
        next_attempt_at = LEAST(d.next_attempt_at, %(at)s)
    FROM w WHERE d.id = w.id AND d.row_version = w.version AND d.status = 'unknown'
    RETURNING d.id, d.message_id, d.status, d.row_version, d.look_again_at AS due_at
),{_LOG},{_QUEUE.format(due="LEAST(ledgers_outboxitem.due_at, EXCLUDED.due_at)")}
SELECT id FROM told"""


def add_generations(rows: Sequence[Successor], by: By, *, undo_s: float) -> dict[int, int]:
    """Make the next generation of deliveries that may have arrived, to be sent by approval.

    The generation before is withdrawn: whatever its own rules would still allow, no machine sends
    it again. One that has a successor already gets no second one.

    Returns:
        the ids of the new rows, by those of the rows before them.
    """
    if not rows:
        return {}
    parameters: dict[str, Any] = {
        f.name: [getattr(row, f.name) for row in rows] for f in fields(Successor)
    }
    parameters |= {"kind": "withdraw", "undo_s": undo_s, "actor": by.actor}
    with connection.cursor() as cursor:
        cursor.execute(_SUCCEED, parameters | {"detail": json.dumps(by.detail)})
        return dict(cursor.fetchall())


_SUCCEED = f"""
WITH w AS (
    SELECT * FROM unnest(%(id)s::bigint[], %(version)s::int[], %(delivery_id)s::uuid[],
        %(body_hash)s::text[], %(key)s::text[], %(recognizer)s::text[])
        AS w(id, version, delivery_id, body_hash, key, recognizer)
),
told AS (
    UPDATE ledgers_delivery d
    SET withdrawn_at = COALESCE(d.withdrawn_at, clock_timestamp()), row_version = d.row_version + 1
    FROM w WHERE d.id = w.id AND d.row_version = w.version AND d.status = 'unknown'
      AND NOT EXISTS (
        SELECT 1 FROM ledgers_delivery n WHERE n.message_id = d.message_id
          AND n.destination = d.destination AND n.part = d.part AND n.generation > d.generation)
    RETURNING d.id, d.status, d.row_version, d.message_id, d.destination, d.part, d.generation,
        w.delivery_id, w.body_hash, w.key, w.recognizer
),{_LOG},
made AS (
    INSERT INTO ledgers_delivery (delivery_id, message_id, destination, part, generation, status,
        cause, body_hash, idempotency_key, recognizer, provider_message_id, attempt_count,
        next_attempt_at, created_at, decision, decided_at, undo_until, fence, row_version)
    SELECT t.delivery_id, t.message_id, t.destination, t.part, t.generation + 1, 'pending',
        'recorded: a person decided to send it again', t.body_hash, t.key, t.recognizer, '', 0,
        u.until, clock_timestamp(), 'send_again', clock_timestamp(), u.until, 0, 1
    FROM told t,
        (SELECT clock_timestamp() + make_interval(secs => %(undo_s)s) AS until) AS u
    RETURNING id, message_id, destination, part, generation, undo_until
),
owed AS (
    INSERT INTO ledgers_outboxitem (delivery_id, channel_id, due_at, leased)
    SELECT n.id, m.channel_id, n.undo_until, false
    FROM made n JOIN ledgers_message m ON m.id = n.message_id
),
recorded AS (
    INSERT INTO ledgers_event (at, kind, delivery_id, from_status, to_status, row_version, rule,
                               inputs, actor, detail)
    SELECT clock_timestamp(), 'record', n.id, '', 'pending', 1, '', '', %(actor)s,
           %(detail)s::jsonb
    FROM made n
)
SELECT t.id, n.id FROM told t JOIN made n ON n.message_id = t.message_id
    AND n.destination = t.destination AND n.part = t.part"""


def permit(rows: Versions, by: By) -> set[int]:
    """Lift the withdrawal of rows whose next generation was taken back before it was sent."""
    return _changed(_PERMIT, _versions(rows), "permit", by)


_PERMIT = f"""
WITH {_WANT},
told AS (
    UPDATE ledgers_delivery d SET withdrawn_at = NULL, row_version = d.row_version + 1
    FROM w WHERE d.id = w.id AND d.row_version = w.version AND d.status = 'unknown'
    RETURNING d.id, d.message_id, d.status, d.row_version, clock_timestamp() AS due_at
),{_LOG},{_QUEUE.format(due="EXCLUDED.due_at")}
SELECT id FROM told"""


def unwind(rows: Versions, by: By, *, undo_s: float) -> set[int]:
    """What a restore put in doubt counts as never sent in the time that it forgot.

    What is on record stays: an attempt in doubt is in doubt all the same.

    Args:
        rows: which, as the person saw them.
        by: who and why.
        undo_s: seconds for which it may be taken back; no machine acts on it before.
    """
    return _changed(_UNWIND, _versions(rows) | {"undo_s": undo_s}, "unwind", by)


_UNWIND = f"""
WITH {_WANT},
told AS (
    UPDATE ledgers_delivery d
    SET rewound_at = NULL, rewound_from = NULL, row_version = d.row_version + 1,
        undo_until = clock_timestamp() + make_interval(secs => %(undo_s)s)
    FROM w WHERE d.id = w.id AND d.row_version = w.version AND d.status = 'unknown'
      AND d.rewound_at IS NOT NULL
    RETURNING d.id, d.message_id, d.status, d.row_version, clock_timestamp() AS due_at
),{_LOG},{_QUEUE.format(due="EXCLUDED.due_at")}
SELECT id FROM told"""


def _versions(rows: Versions) -> dict[str, Any]:
    return {"id": list(rows), "version": list(rows.values())}


def _changed(sql: str, parameters: dict[str, Any], kind: str, by: By) -> set[int]:
    more = {"kind": kind, "actor": by.actor, "detail": json.dumps(by.detail)}
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters | more)
        return {row_id for (row_id,) in cursor.fetchall()}
