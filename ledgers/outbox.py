"""The queue: what a machine still owes. Leases, postponements and wake-ups of its thin rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from ledgers.moves import Change

# Wakes resident workers. A hint that saves latency: losing it costs a delay, never a delivery.
NOTIFY_CHANNEL = "counterfoil_due"

# Seconds. A row whose worker died comes back within a day, whatever its channel says: one channel's
# absurd number must not be the claim's error, which every channel would have.
LONGEST_LEASE_S = 86_400
_LEASE = f"make_interval(secs => LEAST(GREATEST(c.lease_s, 0), {LONGEST_LEASE_S}))"  # NaN too


@dataclass(frozen=True, slots=True)
class Claimed:
    """One leased item. `fence` proves the lease; `lease_until` and `now` are the database's."""

    delivery_id: int
    channel_id: int
    fence: int
    lease_until: datetime
    now: datetime


def claim(quotas: Mapping[int, int]) -> list[Claimed]:
    """Lease what is due, the longest due first, channel by channel.

    The item's `due_at` is moved to the lease's end, so an item whose worker died becomes due again
    by itself. Items that others are claiming at this moment are skipped.

    Args:
        quotas: how many at most, by channel id.
    """
    wanted = {channel: count for channel, count in quotas.items() if count > 0}
    if not wanted:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, [list(wanted), list(wanted.values())])
        return [Claimed(*row) for row in cursor.fetchall()]


# In the comparison the clock is a sub-select, which may use the index; the bare function is
# evaluated row by row, and `now()` is the start of the transaction, which may be long ago. The
# arrays make the planner look the few rows up: a join, whose size it cannot guess, reads on a
# large ledger the whole index.
_CLAIM = f"""
WITH picked AS (
    SELECT item.delivery_id
    FROM unnest(%s::bigint[], %s::int[]) AS q(channel_id, quota)
    CROSS JOIN LATERAL (
        SELECT o.delivery_id
        FROM ledgers_outboxitem o JOIN ledgers_delivery d ON d.id = o.delivery_id
        WHERE o.channel_id = q.channel_id AND o.due_at <= (SELECT clock_timestamp())
        ORDER BY o.due_at LIMIT q.quota FOR UPDATE OF o, d SKIP LOCKED
    ) AS item
),
leased AS (
    UPDATE ledgers_outboxitem o
    SET leased = true, due_at = clock_timestamp()
        + (SELECT {_LEASE} FROM ledgers_channel c WHERE c.id = o.channel_id)
    WHERE o.delivery_id = ANY (ARRAY(SELECT p.delivery_id FROM picked p))
    RETURNING o.delivery_id, o.channel_id, o.due_at
),
fenced AS (
    UPDATE ledgers_delivery d SET fence = nextval('ledgers_fence')
    WHERE d.id = ANY (ARRAY(SELECT l.delivery_id FROM leased l))
    RETURNING d.id, d.fence
)
SELECT f.id, l.channel_id, f.fence, l.due_at, clock_timestamp()
FROM fenced f JOIN leased l ON l.delivery_id = f.id"""


def postpone(changes: Sequence[Change]) -> set[int]:
    """Hand items back until `due_at`, without a move. Only the holder of the fence may.

    The row says what it waits for. Being held goes to the trail as well, once per reason.

    Returns:
        the ids that were postponed; for others the lease was lost or a fact arrived.
    """
    if not changes:
        return set()
    names = ("id", "fence", "version", "due_at", "rule", "cause", "inputs", "actor")
    with connection.cursor() as cursor:
        cursor.execute(
            _POSTPONE, {name: [getattr(change, name) for change in changes] for name in names}
        )
        return {row_id for (row_id,) in cursor.fetchall()}


_POSTPONE = """
WITH w AS (
    SELECT * FROM unnest(%(id)s::bigint[], %(fence)s::bigint[], %(version)s::int[],
        %(due_at)s::timestamptz[], %(rule)s::text[], %(cause)s::text[], %(inputs)s::text[],
        %(actor)s::text[]) AS w(id, fence, version, due_at, rule, cause, inputs, actor)
),
kept AS (
    UPDATE ledgers_delivery d SET next_attempt_at = w.due_at, cause = left(w.cause, 300)
    FROM w JOIN ledgers_delivery before ON before.id = w.id
    WHERE d.id = w.id AND d.fence = w.fence AND d.row_version = w.version
      AND d.status IN ('pending', 'unknown')
    RETURNING d.id, d.status, w.due_at, w.rule, w.inputs, w.actor, d.cause <> before.cause AS new
),
told AS (
    INSERT INTO ledgers_event (at, kind, delivery_id, from_status, to_status, rule, inputs, actor,
                               detail)
    SELECT clock_timestamp(), 'hold', id, status, status, rule, inputs, actor, '{}'::jsonb
    FROM kept WHERE rule = 'held' AND new
)
UPDATE ledgers_outboxitem o SET due_at = k.due_at, leased = false
FROM kept k WHERE o.delivery_id = k.id RETURNING o.delivery_id"""


def release(fences: Mapping[int, int]) -> None:
    """Give leases back at once, by delivery id and fence: the rows are to be looked at again."""
    if not fences:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE ledgers_outboxitem SET due_at = clock_timestamp(), leased = false
            WHERE delivery_id IN (
                SELECT o.delivery_id
                FROM unnest(%s::bigint[], %s::bigint[]) AS w(id, fence)
                JOIN ledgers_delivery d ON d.id = w.id AND d.fence = w.fence
                JOIN ledgers_outboxitem o ON o.delivery_id = w.id AND o.leased
                ORDER BY o.delivery_id FOR UPDATE OF o SKIP LOCKED)
            """,
            [list(fences), list(fences.values())],
        )


def renew(fences: Mapping[int, int]) -> None:
    """Extend leases whose calls are still running past their deadline, by delivery id and fence.

    As long as a call runs bytes may leave, so nobody else may take the row. A lease that is over
    stays over. What somebody else holds at this moment is renewed the next time.
    """
    if not fences:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH kept AS (
                UPDATE ledgers_outboxitem o
                SET due_at = clock_timestamp() + {_LEASE}
                FROM ledgers_channel c, (
                    SELECT i.delivery_id, w.fence
                    FROM unnest(%s::bigint[], %s::bigint[]) AS w(id, fence)
                    JOIN ledgers_delivery d ON d.id = w.id AND d.fence = w.fence
                    JOIN ledgers_outboxitem i ON i.delivery_id = w.id AND i.leased
                    ORDER BY i.delivery_id FOR UPDATE OF i SKIP LOCKED
                ) AS mine
                WHERE o.delivery_id = mine.delivery_id AND c.id = o.channel_id
                  AND o.leased AND o.due_at > clock_timestamp()
                RETURNING o.delivery_id, mine.fence, o.due_at
            )
            UPDATE ledgers_attempt a SET lease_until = k.due_at
            FROM kept k
            WHERE a.delivery_id = k.delivery_id AND a.fence = k.fence AND a.closed_at IS NULL
            """,
            [list(fences), list(fences.values())],
        )


def hand_over(changes: Sequence[Change], kind: str) -> set[int]:
    """Nothing is left for a machine: the row waits for a person, and the trail says why.

    Args:
        changes: rows whose status stays as it is.
        kind: `ask` (a person is asked) or `rest` (a person decided to leave it).
    """
    if not changes:
        return set()
    names = ("id", "fence", "version", "cause", "rule", "inputs", "actor")
    with connection.cursor() as cursor:
        cursor.execute(
            _HAND_OVER,
            {name: [getattr(change, name) for change in changes] for name in names}
            | {"kind": kind},
        )
        return {row_id for (row_id,) in cursor.fetchall()}


_HAND_OVER = """
WITH w AS (
    SELECT * FROM unnest(%(id)s::bigint[], %(fence)s::bigint[], %(version)s::int[],
        %(cause)s::text[], %(rule)s::text[], %(inputs)s::text[], %(actor)s::text[])
        AS w(id, fence, version, cause, rule, inputs, actor)
),
kept AS (
    UPDATE ledgers_delivery d
    SET cause = left(w.cause, 300), next_attempt_at = NULL,
        row_version = d.row_version + 1
    FROM w WHERE d.id = w.id AND d.row_version = w.version
      AND (w.fence IS NULL OR d.fence = w.fence) AND d.status IN ('pending', 'unknown')
    RETURNING d.id, d.status, d.row_version, w.rule, w.inputs, w.actor
),
dropped AS (
    DELETE FROM ledgers_outboxitem o USING kept k WHERE o.delivery_id = k.id
)
INSERT INTO ledgers_event (at, kind, delivery_id, from_status, to_status, row_version,
                           rule, inputs, actor, detail)
SELECT clock_timestamp(), %(kind)s, id, status, status, row_version, rule, inputs,
       actor, '{}'::jsonb
FROM kept RETURNING delivery_id"""


def wake(ids: Iterable[int]) -> int:
    """Make open deliveries due now. An item under a lease is left alone: its holder decides.

    Returns:
        how many were woken.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO ledgers_outboxitem (delivery_id, channel_id, due_at, leased)
            SELECT d.id, m.channel_id, clock_timestamp(), false
            FROM ledgers_delivery d JOIN ledgers_message m ON m.id = d.message_id
            WHERE d.id = ANY(%s) AND d.status IN ('pending', 'submitting', 'unknown')
            ORDER BY d.id
            ON CONFLICT (delivery_id) DO UPDATE SET due_at = EXCLUDED.due_at, leased = false
            WHERE NOT ledgers_outboxitem.leased OR ledgers_outboxitem.due_at <= clock_timestamp()
            """,
            [sorted(ids)],
        )
        woken = int(cursor.rowcount)
    if woken:
        notify()
    return woken


def wake_held(channel_id: int, reason: str, count: int, within_s: float) -> int:
    """Make some of a channel's rows due now that wait because of this, the next due first.

    Args:
        channel_id: whose rows.
        reason: a part of the cause that the rows show.
        count: how many at most.
        within_s: only those due within so many seconds; a long queue is not read to its end.

    Returns:
        how many were woken.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE ledgers_outboxitem SET due_at = clock_timestamp()
            WHERE delivery_id = ANY(ARRAY(  -- read once; IN (… LIMIT …) may be read for each row
                SELECT o.delivery_id FROM ledgers_outboxitem o
                JOIN ledgers_delivery d ON d.id = o.delivery_id
                WHERE o.channel_id = %s AND NOT o.leased
                  AND o.due_at > (SELECT clock_timestamp())
                  AND o.due_at < (SELECT clock_timestamp() + make_interval(secs => %s))
                  AND position(%s IN d.cause) > 0
                ORDER BY o.due_at LIMIT %s FOR UPDATE OF o SKIP LOCKED))
            """,
            [channel_id, within_s, reason, count],
        )
        return int(cursor.rowcount)


def notify() -> None:
    """Hint resident workers, when the transaction commits, that something is due."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, '')", [NOTIFY_CHANNEL])


def wake_next_parts(ids: Iterable[int]) -> None:
    """Let the next parts know what became of these: they are due, or a person is asked."""
    wanted = sorted(ids)
    if not wanted:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT n.id FROM ledgers_delivery d
            JOIN ledgers_message m ON m.id = d.message_id AND m.parts > d.part
            JOIN ledgers_delivery n ON n.message_id = d.message_id
                AND n.destination = d.destination AND n.part = d.part + 1
            WHERE d.id = ANY(%s) AND n.status = 'pending'
            """,
            [wanted],
        )
        following = [row_id for (row_id,) in cursor.fetchall()]
    if following:
        wake(following)


def wake_generations(ids: Iterable[int]) -> None:
    """Make the other generations of these due now: what is proven of one holds for all."""
    wanted = sorted(ids)
    if not wanted:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT o.id FROM ledgers_delivery d
            JOIN ledgers_delivery o ON o.message_id = d.message_id
                AND o.destination = d.destination AND o.part = d.part
                AND o.generation <> d.generation
            WHERE d.id = ANY(%s) AND o.status IN ('pending', 'unknown')
            """,
            [wanted],
        )
        others = [row_id for (row_id,) in cursor.fetchall()]
    wake(others)
