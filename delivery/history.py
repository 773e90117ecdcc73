"""Reading the facts of many deliveries at once, with one statement per table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from delivery.facts import GO_ON, AttemptFact, EvidenceFact, Facts
from delivery.timing import asked_pause_s
from delivery.ways import Way, Ways, policy_of
from ledgers.states import DeliveryStatus


@dataclass(frozen=True, slots=True)
class Case:
    """One delivery under decision: its guarded row, its facts, and what submitting it takes."""

    id: int
    delivery_id: UUID
    status: DeliveryStatus
    version: int
    fence: int
    message_id: int
    channel_id: int
    destination: str
    part: int
    generation: int
    body_hash: str
    key: str
    recognizer: str
    provider_message_id: str
    leased: bool
    facts: Facts
    now: datetime

    @property
    def has_generations(self) -> bool:
        """Whether there may be another one: the one before is withdrawn when the next is made."""
        return self.generation > 1 or self.facts.withdrawn


def read(ids: Iterable[int], ways: Ways) -> list[Case]:
    """The cases of these deliveries, in id order.

    The rows are read before their attempts and evidence. A fact that arrives in between raises
    the row's version, so a decision made without it changes nothing.
    """
    wanted = sorted(set(ids))
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, [wanted])
        names = [column.name for column in cursor.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        # A row as it was recorded has no past: nothing has raised its version yet.
        tried = [r["id"] for r in rows if r["row_version"] > 1 or r["generation"] > 1]
        attempts = _grouped(cursor, _ATTEMPTS, tried)
        evidence = _grouped(cursor, _EVIDENCE, tried)
    return [_case(row, attempts, evidence, ways) for row in rows]


def _grouped(cursor: Any, sql: str, ids: Sequence[int]) -> dict[int, list[tuple[Any, ...]]]:
    grouped: dict[int, list[tuple[Any, ...]]] = {}
    if ids:
        cursor.execute(sql, [ids])
        for row in cursor.fetchall():
            grouped.setdefault(row[0], []).append(row[1:])
    return grouped


def _case(
    row: Mapping[str, Any],
    attempts: Mapping[int, list[tuple[Any, ...]]],
    evidence: Mapping[int, list[tuple[Any, ...]]],
    ways: Ways,
) -> Case:
    facts = _facts(row, attempts, evidence, ways.of(row["channel_id"]))
    if why := _asked_for_too_long(facts):
        facts = replace(facts, held=(*facts.held, why))
    return Case(
        id=row["id"],
        delivery_id=row["delivery_id"],
        status=DeliveryStatus(row["status"]),
        version=row["row_version"],
        fence=row["fence"],
        message_id=row["message_id"],
        channel_id=row["channel_id"],
        destination=row["destination"],
        part=row["part"],
        generation=row["generation"],
        body_hash=row["body_hash"],
        key=row["idempotency_key"],
        recognizer=row["recognizer"],
        provider_message_id=row["provider_message_id"],
        leased=row["leased"],
        facts=facts,
        now=row["now"],
    )


def _facts(
    row: Mapping[str, Any],
    attempts: Mapping[int, list[tuple[Any, ...]]],
    evidence: Mapping[int, list[tuple[Any, ...]]],
    way: Way,
) -> Facts:
    return Facts(
        delivery_id=str(row["delivery_id"]),
        generation=row["generation"],
        attempts=tuple(AttemptFact(*a) for a in attempts.get(row["id"], ())),
        evidence=tuple(EvidenceFact(*e) for e in evidence.get(row["id"], ())),
        policy=policy_of(way, row["contract"]),
        key_first_used_at=row["key_first_used_at"],
        not_before=row["not_before"],
        not_after=row["not_after"],
        withdrawn=row["withdrawn"],
        rewound_at=row["rewound_at"],
        rewound_from=row["rewound_from"],
        decision=row["decision"],
        decided_at=row["decided_at"],
        look_again_at=row["look_again_at"],
        earlier_part_open=bool(row["earlier_part"]),
        earlier_part_ended=row["earlier_part"] == "ended",
        held=tuple(_holds(row, way)),
    )


def _holds(row: Mapping[str, Any], way: Way) -> Iterator[str]:
    """What holds this row: its channel's reasons, everything's, and a person's approval."""
    yield from way.held
    if why := way.refuses(row["destination"]):
        yield why
    if row["held_reason"]:
        yield f"everything is held: {row['held_reason']}"
    if way.channel.requires_approval and row["decision"] not in GO_ON:
        yield "approval required"


def _asked_for_too_long(facts: Facts) -> str:
    """Why a person should look first: the provider's pause outlasts what its key protects.

    Nothing was accepted, so it is safe to send; but by then the key would no longer catch an error
    in that, and what was to be said may be out of date. A decision to go on settles it.
    """
    policy, last = facts.policy, max(facts.own, key=lambda a: a.number, default=None)
    if last is None or last.outcome != "deferred" or last not in facts.considered:
        return ""
    asked = asked_pause_s(last.retry_after_s)
    room = policy.window_s - policy.deadline_s - policy.margin_s
    if not policy.key_honoured or policy.window_s <= 0 or asked <= room:
        return ""
    return (
        f"approval required: the provider asks to wait {asked:g} s,"
        f" longer than its key protects ({room:g} s)"
    )


# What a person may still take back is not begun. Who decided to send it after its last moment
# decided that it may be late.
_ROWS = """
SELECT clock_timestamp() AS now, d.id, d.delivery_id, d.status, d.row_version, d.fence,
    d.message_id, m.channel_id, d.destination, d.part, d.generation, d.body_hash,
    d.idempotency_key, d.recognizer, d.provider_message_id, d.attempt_count,
    d.key_first_used_at, d.rewound_at, d.rewound_from,
    d.withdrawn_at IS NOT NULL AS withdrawn, d.decision, d.decided_at,
    m.contract::text AS contract, GREATEST(m.not_before, d.undo_until) AS not_before,
    CASE WHEN d.decision IN ('send_again', 'try_again') AND d.decided_at > m.not_after THEN NULL
        ELSE m.not_after END AS not_after,
    d.look_again_at,
    COALESCE(o.leased AND o.due_at > clock_timestamp(), false) AS leased,
    COALESCE((SELECT i.held_reason FROM ledgers_installation i WHERE i.held_at IS NOT NULL), '')
        AS held_reason,
    CASE WHEN d.part > 1 THEN (
        SELECT CASE WHEN bool_or(p.ended) THEN 'ended' WHEN count(*) > 0 THEN 'open' END
        FROM (
            SELECT bool_and(e.status IN ('failed', 'expired', 'cancelled')) AS ended
            FROM ledgers_delivery e
            WHERE e.message_id = d.message_id AND e.destination = d.destination
              AND e.part < d.part
            GROUP BY e.part HAVING NOT bool_or(e.status = 'delivered')
        ) AS p
    ) END AS earlier_part
FROM ledgers_delivery d
JOIN ledgers_message m ON m.id = d.message_id
LEFT JOIN ledgers_outboxitem o ON o.delivery_id = d.id
WHERE d.id = ANY(%s) ORDER BY d.id"""

# An attempt is held while it is open and the item is leased under its own fence.
_ATTEMPTS = """
SELECT d.id, e.generation, a.number, a.outcome, a.opened_at, a.closed_at, a.lease_until,
    a.deadline_s,
    a.closed_at IS NULL AND a.fence = e.fence
        AND COALESCE(o.leased AND o.due_at > clock_timestamp(), false),
    a.key_scope, a.retry_after_s, a.permanent
FROM ledgers_delivery d
JOIN ledgers_delivery e
    ON e.message_id = d.message_id AND e.destination = d.destination AND e.part = d.part
JOIN ledgers_attempt a ON a.delivery_id = e.id
LEFT JOIN ledgers_outboxitem o ON o.delivery_id = e.id
WHERE d.id = ANY(%s) ORDER BY d.id, e.generation, a.number"""

_EVIDENCE = """
SELECT d.id, e.generation, v.method, v.verdict, v.taken_at, v.covered_from
FROM ledgers_delivery d
JOIN ledgers_delivery e
    ON e.message_id = d.message_id AND e.destination = d.destination AND e.part = d.part
JOIN ledgers_evidence v ON v.delivery_id = e.id
WHERE d.id = ANY(%s) ORDER BY d.id, v.id"""
