"""Reading the facts of many deliveries at once, with one statement per table."""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from delivery.authority import rule_complaints
from delivery.channels.contract import Adapter
from delivery.channels.missing import NoAdapter
from delivery.channels.registry import adapter_for
from delivery.channels.secrets import SecretError, fingerprint, read_secret
from delivery.errors import UnknownAdapterError
from delivery.facts import AttemptFact, EvidenceFact, Facts, Policy
from delivery.policy import unsound
from delivery.timing import asked_pause_s, boottime
from ledgers.canonical import Json, sha256
from ledgers.models import Channel, Credential
from ledgers.states import DeliveryStatus

logger = logging.getLogger(__name__)

REMEMBERED_S = 1.0


@dataclass(frozen=True, slots=True)
class Content:
    """A message as it was frozen. Where `parts` is empty, one of the others says why.

    `unreadable`: it is gone or damaged, for good. `changed`: the adapter would not split it as it
    did when it was recorded, until it is set up as it was.
    """

    parts: tuple[Json, ...] = ()
    unreadable: str = ""
    changed: str = ""


@dataclass(slots=True)
class Way:
    """A channel as it is now: its row, its adapter, and what holds everything on it."""

    channel: Channel
    adapter: Adapter
    fingerprint: str
    held: tuple[str, ...]
    read_at: float
    policies: dict[str, Policy] = field(default_factory=dict)


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


@dataclass(slots=True)
class Ways:
    """The channels, remembered for a second: a pause or another credential counts from then on."""

    ways: dict[int, Way] = field(default_factory=dict)

    def of(self, channel_id: int) -> Way:
        way = self.ways.get(channel_id)
        if way is None or boottime() - way.read_at > REMEMBERED_S:
            channel = Channel.objects.select_related("credential").get(pk=channel_id)
            way = self.ways[channel_id] = open_way(channel)
        return way


def open_way(channel: Channel) -> Way:
    """A channel with its adapter and everything that holds all of its deliveries now.

    Never raises: a row that cannot be worked with holds its own deliveries, and nobody else's.
    """
    adapter, reasons = _open_adapter(channel)
    if channel.paused_at is not None:
        reasons.append(f"channel paused: {channel.pause_reason}")
    mark, why = _credential_mark(channel.credential)
    reasons.extend(filter(None, (why, *rule_complaints(channel.credential.destination_rules))))
    try:
        reasons.extend(f"misconfigured: {c.field} {c.text}" for c in unsound(channel))
        reasons.extend(f"not ready: {why}" for why in [adapter.ready()] if why)
    except Exception as error:  # noqa: BLE001  whatever an operator's settings make it raise
        reasons.append(f"misconfigured: {type(error).__name__}: {error}")
    return Way(channel, adapter, mark, tuple(reasons), boottime())


def _open_adapter(channel: Channel) -> tuple[Adapter, list[str]]:
    try:
        return adapter_for(channel), []
    except UnknownAdapterError as error:
        return NoAdapter(channel.settings, str), [str(error)]
    except Exception as error:  # noqa: BLE001  whatever an operator's settings make it raise
        return NoAdapter({}, str), [f"misconfigured: {type(error).__name__}: {error}"]


def _credential_mark(credential: Credential) -> tuple[str, str]:
    """The fingerprint of the secret that is there now, and what speaks against using it.

    The first use remembers it. Another secret may be another account, with other destinations
    and other keys: what is owed waits until a person has saved the credential again.
    """
    try:
        secret = read_secret(credential.secret_ref)
    except SecretError as error:
        return "", f"credential {credential.name} unavailable: {error}"
    mark = fingerprint(secret) if secret else "none"
    if not credential.fingerprint:
        Credential.objects.filter(pk=credential.pk, fingerprint="").update(fingerprint=mark)
    elif credential.fingerprint != mark:
        return mark, (
            f"credential {credential.name} is of another identity than before, or was renewed:"
            " save it again if it is of the same account"
        )
    return mark, ""


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
    way = ways.of(row["channel_id"])
    held = list(way.held)
    if row["held_reason"]:
        held.append(f"everything is held: {row['held_reason']}")
    if way.channel.requires_approval and row["decision"] not in {"try_again", "send_again"}:
        held.append("approval required")
    facts = Facts(
        delivery_id=str(row["delivery_id"]),
        generation=row["generation"],
        attempts=tuple(AttemptFact(*a) for a in attempts.get(row["id"], ())),
        evidence=tuple(EvidenceFact(*e) for e in evidence.get(row["id"], ())),
        policy=_policy(way, row["contract"]),
        key_first_used_at=row["key_first_used_at"],
        not_before=row["not_before"],
        not_after=row["not_after"],
        withdrawn=row["withdrawn"],
        rewound_at=row["rewound_at"],
        decision=row["decision"],
        decided_at=row["decided_at"],
        look_again_at=row["look_again_at"],
        earlier_part_open=bool(row["earlier_part"]),
        earlier_part_ended=row["earlier_part"] == "ended",
        held=tuple(held),
    )
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


def _policy(way: Way, contract: str) -> Policy:
    """The channel's policy now, with the promises that its provider gave when recorded."""
    if contract not in way.policies:
        way.policies[contract] = _new_policy(way, contract)
    return way.policies[contract]


def _new_policy(way: Way, contract: str) -> Policy:
    declared = json.loads(contract)
    channel = way.channel
    surface = declared["surface"] is not None
    return Policy(
        retry_schedule=tuple(channel.retry_schedule),
        look_up_schedule=tuple(channel.look_up_schedule),
        max_attempts=channel.max_attempts,
        deadline_s=channel.deadline_s,
        margin_s=channel.margin_s,
        processing_s=declared["processing_s"],
        key_honoured=declared["key"] is not None,
        key_scope=key_scope(declared["key_scope"], way.fingerprint, way.adapter.endpoint()),
        window_s=declared["window"]["seconds"],
        can_look_up=declared["look_up_by_key"] or declared["look_up_by_id"] or surface,
        resend_after_absent=channel.resend_after_absent == "automatic",
    )


def key_scope(kind: str, mark: str, endpoint: str) -> str:
    """Within whose name, and at which endpoint, a key is honoured: elsewhere it is a new one.

    Written on every attempt, also where no key is honoured: a search must look where it went.
    """
    who = kind if kind in {"none", "endpoint"} else f"{kind}:{mark}"
    return f"{who}@{sha256(endpoint)[:12]}" if endpoint else who


def read_contents(message_ids: Iterable[int], ways: Ways) -> dict[int, Content]:
    """The frozen contents of messages, each checked against its hash and split again."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, channel_id, payload, payload_hash, parts FROM ledgers_message"
            " WHERE id = ANY(%s)",
            [sorted(set(message_ids))],
        )
        return {row[0]: _content(ways.of(row[1]), *row[2:]) for row in cursor.fetchall()}


def _content(way: Way, payload: str | None, payload_hash: str, parts: int) -> Content:
    if payload is None:
        return Content(unreadable="the content was erased")
    if sha256(payload) != payload_hash:
        why = "content unreadable: it does not match the hash it was recorded with"
        return Content(unreadable=why)
    try:
        split = tuple(way.adapter.split(json.loads(payload)))
    except Exception as error:
        # One message that cannot be split any more must not stop the others of the wave.
        logger.exception("splitting a message of channel %s failed", way.channel.slug)
        return Content(changed=f"the renderer changed: it cannot split this: {error}")
    if len(split) != parts:
        why = f"the renderer changed: this was {parts} parts when recorded, now {len(split)}"
        return Content(changed=why)
    return Content(split)


# What a person may still take back is not begun. Who decided to send it after its last moment
# decided that it may be late.
_ROWS = """
SELECT clock_timestamp() AS now, d.id, d.delivery_id, d.status, d.row_version, d.fence,
    d.message_id, m.channel_id, d.destination, d.part, d.generation, d.body_hash,
    d.idempotency_key, d.recognizer, d.provider_message_id, d.attempt_count,
    d.key_first_used_at, d.rewound_at,
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
