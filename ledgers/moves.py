"""The only writer of a delivery's status. One function per move.

Every move works on a set of rows, one statement for the whole set: the guard (old status, version
and, for a worker, its fence), the new columns, the row's place in the outbox, and the event that
explains it. A row whose guard fails is simply not among the ids that come back: somebody else
moved it, or a new fact arrived, and the caller must look again. The others are not disturbed.

Plain SQL, because ORM objects on this path cost ten times what the database does.

Callers hold the rows (`hold`) first, in id order, so that two sets never deadlock.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from django.db import connection

from ledgers import states
from ledgers.states import DeliveryStatus, Move


@dataclass(frozen=True, slots=True)
class Change:
    """One row's part in a move.

    `version`: the row's version that the decision was made from. `fence`: the worker's fence, or
    None for evidence and people, who need no lease. `due_at`: when a machine must look again;
    None takes the row out of the outbox. `inputs`: canonical JSON of what the rule saw.
    """

    id: int
    status: DeliveryStatus
    version: int
    fence: int | None
    rule: str
    cause: str
    actor: str
    inputs: str = ""
    due_at: datetime | None = None
    attempt_id: int | None = None


@dataclass(frozen=True, slots=True)
class Opening:
    """What the write-ahead of one attempt freezes, besides its `Change`."""

    change: Change
    worker: str
    host: str
    build: str
    key_scope: str
    authority: str  # JSON
    deadline_s: float


@dataclass(frozen=True, slots=True)
class Opened:
    """An attempt that is on record: from here on bytes may be on the wire."""

    delivery_id: int
    attempt_id: int
    number: int
    fence: int
    version: int


@dataclass(frozen=True, slots=True)
class Held:
    """The guarded columns of a row, read under its lock."""

    id: int
    status: DeliveryStatus
    fence: int
    version: int
    leased: bool


def hold(ids: Iterable[int], *, skip_locked: bool = False) -> dict[int, Held]:
    """Lock rows until the transaction ends: outbox items first, then deliveries, in id order.

    The claim also takes the item before the row; any other order could deadlock with it.

    Args:
        ids: deliveries.
        skip_locked: leave out what somebody else holds, instead of waiting for it. A worker must:
            one forgotten transaction on one row would stop everything it works on.
    """
    wanted = sorted(set(ids))
    lock = "FOR UPDATE SKIP LOCKED" if skip_locked else "FOR UPDATE"
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT delivery_id, leased AND due_at > clock_timestamp() FROM ledgers_outboxitem"
            f" WHERE delivery_id = ANY(%s) ORDER BY delivery_id {lock}",
            [wanted],
        )
        leased = dict(cursor.fetchall())
        cursor.execute(
            "SELECT id, status, fence, row_version FROM ledgers_delivery d"
            " WHERE id = ANY(%s) AND (id = ANY(%s) OR NOT EXISTS ("
            "SELECT 1 FROM ledgers_outboxitem o WHERE o.delivery_id = d.id))"
            f" ORDER BY id {lock}",
            [wanted, list(leased)],
        )
        return {
            row_id: Held(row_id, DeliveryStatus(status), fence, version, leased.get(row_id, False))
            for row_id, status, fence, version in cursor.fetchall()
        }


def accept(changes: Sequence[Change]) -> set[int]:
    """Acceptance is proven. From a status that claimed the opposite the row becomes disputed."""
    return _move(
        states.ACCEPT,
        changes,
        "acknowledged_at = clock_timestamp(), finished_at = clock_timestamp(),"
        " unknown_since = NULL, next_attempt_at = NULL,"
        f" provider_message_id = COALESCE({_ANSWERED_ID}, {_FOUND_ID}, d.provider_message_id),"
        " disputed_at = CASE WHEN w.status = ANY(%(disputes)s) THEN clock_timestamp()"
        " ELSE d.disputed_at END",
    )


def suspect(changes: Sequence[Change]) -> set[int]:
    """It may have been accepted: from here on nothing is sent again by guesswork."""
    return _move(
        states.SUSPECT,
        changes,
        "unknown_since = clock_timestamp(), next_attempt_at = w.due_at",
    )


def rewind(changes: Sequence[Change]) -> set[int]:
    """The database was restored: all that was open may have been sent, and that be forgotten.

    What a person let go on before is used up: it may have been acted on. What they left is left.
    """
    return _move(
        states.REWIND,
        changes,
        "unknown_since = COALESCE(d.unknown_since, clock_timestamp()),"
        f" next_attempt_at = w.due_at, rewound_at = {_NO_WRITER_LEFT},"
        " rewound_from = COALESCE(LEAST(d.rewound_from,"
        " (SELECT restore_point FROM ledgers_installation)), clock_timestamp()),"
        " decided_at = CASE WHEN d.decision = 'leave' THEN d.decided_at END,"
        " decision = CASE WHEN d.decision = 'leave' THEN 'leave' ELSE '' END, undo_until = NULL",
    )


def clear(changes: Sequence[Change]) -> set[int]:
    """Proven not accepted, and still owed."""
    return _move(states.CLEAR, changes, "unknown_since = NULL, next_attempt_at = w.due_at")


def fail(changes: Sequence[Change]) -> set[int]:
    """Proven not accepted, and no machine will try again."""
    return _move(states.FAIL, changes, _NOT_SENT)


def expire(changes: Sequence[Change]) -> set[int]:
    """Proven not accepted, and its last moment has passed."""
    return _move(states.EXPIRE, changes, _NOT_SENT)


def cancel(changes: Sequence[Change]) -> set[int]:
    """Proven not accepted, and withdrawn."""
    return _move(states.CANCEL, changes, _NOT_SENT)


def reissue(changes: Sequence[Change]) -> set[int]:
    """A person wants a row tried again that is known not to have been sent.

    Until it is due the person may take that back (`ledgers.rulings.take_back`).
    """
    return _move(
        states.REISSUE,
        changes,
        "finished_at = NULL, next_attempt_at = w.due_at, withdrawn_at = NULL,"
        " decision = 'try_again', decided_at = clock_timestamp(), undo_until = w.due_at",
    )


# A worker that took the row just before the restore may write until its lease and its call end.
_NO_WRITER_LEFT = (
    "(SELECT COALESCE(i.restored_at, clock_timestamp()) + make_interval("
    "secs => LEAST(c.lease_s, 86400) + LEAST(c.deadline_s, 86400))"
    " FROM ledgers_installation i, ledgers_message m JOIN ledgers_channel c ON c.id = m.channel_id"
    " WHERE m.id = d.message_id)"
)

# What the provider calls it: as it answered, or as a look-up found it.
_ANSWERED_ID = (
    "(SELECT a.provider_message_id FROM ledgers_attempt a WHERE a.delivery_id = d.id"
    " AND a.outcome = 'accepted' AND a.provider_message_id <> '' ORDER BY a.number LIMIT 1)"
)
_FOUND_ID = (
    "(SELECT v.provider_message_id FROM ledgers_evidence v WHERE v.delivery_id = d.id"
    " AND v.verdict IN ('found', 'found_many') AND v.provider_message_id <> ''"
    " ORDER BY v.id LIMIT 1)"
)
_NOT_SENT = "finished_at = clock_timestamp(), unknown_since = NULL, next_attempt_at = NULL"

FINISHES = {
    DeliveryStatus.DELIVERED: accept,
    DeliveryStatus.FAILED: fail,
    DeliveryStatus.EXPIRED: expire,
    DeliveryStatus.CANCELLED: cancel,
}

_WANT = """
WITH want AS (
    SELECT * FROM unnest(
        %(id)s::bigint[], %(status)s::text[], %(version)s::int[], %(fence)s::bigint[],
        %(rule)s::text[], %(cause)s::text[], %(actor)s::text[], %(inputs)s::text[],
        %(due_at)s::timestamptz[], %(attempt_id)s::bigint[]
    ) AS w(id, status, version, fence, rule, cause, actor, inputs, due_at, attempt_id)
)"""

_GUARD = """
    WHERE d.id = w.id AND d.status = w.status AND w.status = ANY(%(sources)s)
      AND d.row_version = w.version AND (w.fence IS NULL OR d.fence = w.fence)"""

_LOG = """
logged AS (
    INSERT INTO ledgers_event (at, kind, delivery_id, attempt_id, from_status, to_status,
                               row_version, rule, inputs, actor, detail)
    SELECT clock_timestamp(), %(kind)s, m.id, m.attempt_id, m.status, %(target)s,
           m.row_version, m.rule, m.inputs, m.actor, '{}'::jsonb
    FROM moved m
)"""

# The outbox follows the row in the same statement: due again, or owed nothing by a machine. Who
# moves it without a fence leaves the time of a leased item alone: its holder looks again anyway.
_QUEUE = """
requeued AS (
    INSERT INTO ledgers_outboxitem (delivery_id, channel_id, due_at, leased)
    SELECT m.id, g.channel_id, m.due_at, false
    FROM moved m JOIN ledgers_message g ON g.id = m.message_id
    WHERE m.due_at IS NOT NULL AND (m.fence IS NOT NULL OR NOT EXISTS (
        SELECT 1 FROM ledgers_outboxitem l
        WHERE l.delivery_id = m.id AND l.leased AND l.due_at > clock_timestamp()))
    ON CONFLICT (delivery_id) DO UPDATE SET due_at = EXCLUDED.due_at, leased = false
),
dropped AS (
    DELETE FROM ledgers_outboxitem o USING moved m
    WHERE o.delivery_id = m.id AND m.due_at IS NULL
)"""


def _move(move: Move, changes: Sequence[Change], columns: str) -> set[int]:
    if not changes:
        return set()
    sql = f"""{_WANT},
moved AS (
    UPDATE ledgers_delivery d
    SET status = %(target)s, cause = left(w.cause, 300), row_version = d.row_version + 1, {columns}
    FROM want w {_GUARD}
    RETURNING d.id, d.message_id, d.row_version, w.status, w.fence, w.rule, w.inputs, w.actor,
              w.due_at, w.attempt_id
),{_LOG},{_QUEUE}
SELECT id FROM moved"""
    with connection.cursor() as cursor:
        cursor.execute(sql, _parameters(move, changes))
        return {row_id for (row_id,) in cursor.fetchall()}


def _parameters(move: Move, changes: Sequence[Change]) -> dict[str, Any]:
    columns: dict[str, Any] = {
        field.name: [getattr(change, field.name) for change in changes] for field in fields(Change)
    }
    return columns | {
        "kind": move.name,
        "target": move.target.value,
        "sources": [source.value for source in move.sources],
        "disputes": [source.value for source in move.disputes],
    }


def begin(openings: Sequence[Opening]) -> dict[int, Opened]:
    """Write attempts ahead. What comes back is on record, and only that may be submitted.

    Besides the guard of every move, the item must still be leased by the database clock: a worker
    that took too long to decide finds nothing to do here.
    And a second generation does not begin once an earlier one has arrived after all: that raises
    the earlier one's version only.
    """
    if not openings:
        return {}
    names = ("worker", "host", "build", "key_scope", "authority", "deadline_s")
    parameters = _parameters(states.BEGIN, [o.change for o in openings]) | {
        name: [getattr(opening, name) for opening in openings] for name in names
    }
    with connection.cursor() as cursor:
        cursor.execute(_BEGIN, parameters)
        rows = [Opened(*row) for row in cursor.fetchall()]
    return {opened.delivery_id: opened for opened in rows}


_BEGIN = f"""{_WANT},
extra AS (
    SELECT * FROM unnest(
        %(id)s::bigint[], %(worker)s::text[], %(host)s::text[], %(build)s::text[],
        %(key_scope)s::text[], %(authority)s::text[], %(deadline_s)s::float8[]
    ) AS x(id, worker, host, build, key_scope, authority, deadline_s)
),
moved AS (
    UPDATE ledgers_delivery d
    SET status = %(target)s, cause = left(w.cause, 300), row_version = d.row_version + 1,
        attempt_count = d.attempt_count + 1, unknown_since = NULL, next_attempt_at = NULL,
        key_first_used_at = COALESCE(d.key_first_used_at, clock_timestamp())
    FROM want w JOIN ledgers_outboxitem o ON o.delivery_id = w.id {_GUARD}
      AND o.leased AND o.due_at > clock_timestamp()
      AND (d.generation = 1 OR NOT EXISTS (
        SELECT 1 FROM ledgers_delivery e WHERE e.message_id = d.message_id
          AND e.destination = d.destination AND e.part = d.part AND e.status = 'delivered'))
    RETURNING d.id, d.row_version, d.fence, d.attempt_count, d.idempotency_key, d.body_hash,
              o.due_at AS lease_until, w.status, w.rule, w.inputs, w.actor
),
opened AS (
    INSERT INTO ledgers_attempt (delivery_id, number, opened_at, worker, host, build, fence,
        idempotency_key, key_scope, body_hash, authority, deadline_s, lease_until, phase,
        bytes_written, outcome, permanent, replayed, late, provider_message_id, response, error)
    SELECT m.id, m.attempt_count, clock_timestamp(), x.worker, x.host, x.build, m.fence,
        m.idempotency_key, x.key_scope, m.body_hash, x.authority::jsonb, x.deadline_s,
        m.lease_until, '', 0, '', false, false, false, '', '', ''
    FROM moved m JOIN extra x ON x.id = m.id
    RETURNING id, delivery_id, number, fence
),
logged AS (
    INSERT INTO ledgers_event (at, kind, delivery_id, attempt_id, from_status, to_status,
                               row_version, rule, inputs, actor, detail)
    SELECT clock_timestamp(), %(kind)s, m.id, a.id, m.status, %(target)s, m.row_version, m.rule,
           m.inputs, m.actor, '{{}}'::jsonb
    FROM moved m JOIN opened a ON a.delivery_id = m.id
)
SELECT a.delivery_id, a.id, a.number, a.fence, m.row_version
FROM opened a JOIN moved m ON m.id = a.delivery_id"""
