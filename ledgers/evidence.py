"""Facts as they arrive: answers, findings, withdrawals, decisions. Each raises the row's version.

So a fact that arrives between a worker's decision and its write-ahead makes the write-ahead change
no row, and the worker decides again. Nothing here writes a status: that follows from the whole
history, through `ledgers.moves`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from django.db import connection


@dataclass(frozen=True, slots=True)
class Closing:
    """What became of one attempt. `retry_after_s` in seconds, None where none was named.

    `key`, `fence`: as it was written ahead; empty and None: whichever attempt has this number. A
    database that was restored meanwhile may have given the number to another one.
    """

    attempt_id: int
    outcome: str
    phase: str
    bytes_written: int
    permanent: bool = False
    replayed: bool = False
    retry_after_s: float | None = None
    provider_message_id: str = ""
    response: str = ""
    error: str = ""
    key: str = ""
    fence: int | None = None


@dataclass(frozen=True, slots=True)
class Sighting:
    """One finding about one delivery, as `Evidence` keeps it."""

    delivery_id: int
    taken_at: datetime
    method: str
    verdict: str
    searched: str
    why: str
    covered_from: datetime | None
    pages: int
    provider_message_id: str
    response: str
    seen_by: str


def close_attempts(closings: Sequence[Closing]) -> set[int]:
    """Close attempts by their own id, and only while they are open.

    An attempt whose lease was lost meanwhile is closed all the same and marked late: what was
    learned from the outside world is never thrown away.

    Returns:
        the ids of the attempts that were closed; one that is missing had an answer already, or is
        not on record.
    """
    if not closings:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(_CLOSE, _columns(Closing, closings))
        return {attempt_id for (attempt_id,) in cursor.fetchall()}


_CLOSE = """
WITH answer AS (
    SELECT * FROM unnest(
        %(attempt_id)s::bigint[], %(outcome)s::text[], %(phase)s::text[],
        %(bytes_written)s::bigint[], %(permanent)s::bool[], %(replayed)s::bool[],
        %(retry_after_s)s::float8[], %(provider_message_id)s::text[],
        %(response)s::text[], %(error)s::text[], %(key)s::text[], %(fence)s::bigint[]
    ) AS w(id, outcome, phase, bytes_written, permanent, replayed, retry_after_s,
           provider_message_id, response, error, key, fence)
),
closed AS (
    UPDATE ledgers_attempt a
    SET closed_at = clock_timestamp(), outcome = w.outcome, phase = w.phase,
        bytes_written = w.bytes_written, permanent = w.permanent, replayed = w.replayed,
        retry_after_s = w.retry_after_s, provider_message_id = left(w.provider_message_id, 300),
        response = w.response, error = w.error, late = d.fence <> a.fence
    FROM answer w, ledgers_delivery d
    WHERE a.id = w.id AND a.closed_at IS NULL AND d.id = a.delivery_id
      AND (w.fence IS NULL OR (a.fence, a.idempotency_key) = (w.fence, w.key))
    RETURNING a.id, a.delivery_id, a.late
),
raised AS (
    UPDATE ledgers_delivery d SET row_version = d.row_version + 1
    FROM closed c WHERE d.id = c.delivery_id AND c.late
)
SELECT id FROM closed"""


def attempts_on_record(ids: Iterable[int]) -> dict[tuple[int, int, str], bool]:
    """Attempts with these numbers, by number, fence and key: whether each is open."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, fence, idempotency_key, closed_at IS NULL FROM ledgers_attempt"
            " WHERE id = ANY(%s)",
            [list(ids)],
        )
        return {(number, fence, key): is_open for number, fence, key, is_open in cursor.fetchall()}


def deliveries_of(key: str, channel_id: int) -> list[int]:
    """Of a channel, those with this idempotency key: one, or none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT d.id FROM ledgers_delivery d JOIN ledgers_message m ON m.id = d.message_id"
            " WHERE d.idempotency_key = %s AND m.channel_id = %s",
            [key, channel_id],
        )
        return [row_id for (row_id,) in cursor.fetchall()]


def add_sightings(sightings: Sequence[Sighting]) -> None:
    """Keep findings, and raise the version of every delivery they are about."""
    if not sightings:
        return
    with connection.cursor() as cursor:
        cursor.execute(_SIGHT, _columns(Sighting, sightings))


_SIGHT = """
WITH seen AS (
    INSERT INTO ledgers_evidence (delivery_id, taken_at, created_at, method, verdict, searched, why,
        covered_from, pages, provider_message_id, response, seen_by)
    SELECT w.delivery_id, w.taken_at, clock_timestamp(), w.method, w.verdict, w.searched, w.why,
        w.covered_from, w.pages, left(w.provider_message_id, 300), w.response, w.seen_by
    FROM unnest(
        %(delivery_id)s::bigint[], %(taken_at)s::timestamptz[], %(method)s::text[],
        %(verdict)s::text[], %(searched)s::text[], %(why)s::text[], %(covered_from)s::timestamptz[],
        %(pages)s::int[], %(provider_message_id)s::text[], %(response)s::text[], %(seen_by)s::text[]
    ) AS w(delivery_id, taken_at, method, verdict, searched, why, covered_from, pages,
           provider_message_id, response, seen_by)
    RETURNING delivery_id
)
UPDATE ledgers_delivery d SET row_version = d.row_version + 1
WHERE d.id IN (SELECT delivery_id FROM seen)"""


def withdraw(ids: Iterable[int], actor: str, reason: str) -> set[int]:
    """Forbid further sends of open deliveries. What was sent is not undone by it.

    Returns:
        the ids that were withdrawn now; others were withdrawn before or had ended.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH gone AS (
                UPDATE ledgers_delivery
                SET withdrawn_at = clock_timestamp(), row_version = row_version + 1
                WHERE id = ANY(%(ids)s) AND withdrawn_at IS NULL
                  AND status IN ('pending', 'submitting', 'unknown')
                RETURNING id, status, row_version
            )
            INSERT INTO ledgers_event (at, kind, delivery_id, from_status, to_status, row_version,
                                       rule, inputs, actor, detail)
            SELECT clock_timestamp(), 'withdraw', id, status, status, row_version, '', '',
                   %(actor)s, jsonb_build_object('reason', %(reason)s::text)
            FROM gone RETURNING delivery_id
            """,
            {"ids": sorted(ids), "actor": actor, "reason": reason},
        )
        return {row_id for (row_id,) in cursor.fetchall()}


def _columns(kind: type[Closing | Sighting], rows: Sequence[Any]) -> dict[str, list[Any]]:
    return {f.name: [getattr(row, f.name) for row in rows] for f in fields(kind)}
