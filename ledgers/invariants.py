"""The invariants of the ledgers, each a named query (or comparison) whose rows are violations."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ledgers import derived, restorecheck, sealcheck, states


@dataclass(frozen=True, slots=True)
class Invariant:
    """One promise. What finds violations gives a row for each, its first column the offender.

    `finds`: SQL, or a function where SQL cannot compute it.
    """

    name: str
    promise: str
    finds: str | Callable[[], Iterable[tuple[Any, ...]]]


def _allowed_pairs() -> str:
    """The table of moves as SQL values, so that the trail is checked against the same data."""
    pairs = [
        f"('{move.name}', '{source}', '{move.target}')"
        for move in states.MOVES
        for source in (move.sources or ("",))
    ]
    return ", ".join(pairs)


_MOVE_NAMES = ", ".join(f"'{move.name}'" for move in states.MOVES)
_OPEN = ", ".join(f"'{status}'" for status in states.OPEN)
_NOT_SENT = ", ".join(f"'{status}'" for status in states.NOT_SENT)
# An attempt that leaves it possible that the provider accepted.
_IN_DOUBT = (
    "(a.outcome IN ('ambiguous', 'mismatch', 'in_flight') OR (a.outcome = '' AND NOT EXISTS ("
    "SELECT 1 FROM ledgers_delivery o WHERE o.id = a.delivery_id AND o.status = 'submitting')))"
)

INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "one-identity-per-destination",
        "each destination and part of a message has its delivery, generations without gap",
        """
        SELECT m.id, d.destination, d.generation, count(*) FROM ledgers_delivery d
        JOIN ledgers_message m ON m.id = d.message_id
        GROUP BY m.id, m.parts, d.destination, d.generation
        HAVING d.generation = 1 AND (count(*) <> m.parts OR max(d.part) <> m.parts)
        UNION ALL
        SELECT d.message_id, d.destination, d.generation, 0 FROM ledgers_delivery d
        WHERE d.generation > 1 AND NOT EXISTS (
            SELECT 1 FROM ledgers_delivery p WHERE p.message_id = d.message_id
              AND p.destination = d.destination AND p.part = d.part
              AND p.generation = d.generation - 1)
        """,
    ),
    Invariant(
        "messages-belong-to-completed-steps",
        "only a completed step owes messages, and every message has a destination",
        """
        SELECT m.id, s.step_id, s.status FROM ledgers_message m
        JOIN ledgers_step s ON s.id = m.step_id
        WHERE s.status <> 'completed'
           OR NOT EXISTS (SELECT 1 FROM ledgers_delivery d WHERE d.message_id = m.id)
        """,
    ),
    Invariant(
        "rosters-are-whole",
        "a message has deliveries to as many destinations as it was recorded with",
        """
        SELECT m.id, m.destinations, count(DISTINCT d.destination) FROM ledgers_message m
        LEFT JOIN ledgers_delivery d ON d.message_id = m.id AND d.generation = 1
        GROUP BY m.id HAVING count(DISTINCT d.destination) <> m.destinations
        """,
    ),
    Invariant(
        "identities-are-derived",
        "identity, key and recognizer follow from where the delivery stands in the work",
        derived.misderived,
    ),
    Invariant(
        "keys-are-unique",
        "no two deliveries share an idempotency key or a recognizer",
        """
        SELECT idempotency_key, count(*) FROM ledgers_delivery GROUP BY idempotency_key
        HAVING count(*) > 1
        UNION ALL
        SELECT recognizer, count(*) FROM ledgers_delivery GROUP BY recognizer HAVING count(*) > 1
        """,
    ),
    Invariant(
        "same-key-same-bytes",
        "every attempt of a delivery carries its key and its bytes",
        """
        SELECT d.delivery_id, a.number FROM ledgers_attempt a
        JOIN ledgers_delivery d ON d.id = a.delivery_id
        WHERE a.idempotency_key <> d.idempotency_key OR a.body_hash <> d.body_hash
        """,
    ),
    Invariant(
        "contents-match-their-hashes",
        "a message's content and a step's result are those that were recorded",
        """
        SELECT 'message', id FROM ledgers_message
        WHERE payload IS NOT NULL
          AND encode(sha256(convert_to(payload, 'UTF8')), 'hex') <> payload_hash
        UNION ALL
        SELECT 'step', id FROM ledgers_step
        WHERE status = 'completed' AND result IS NOT NULL
          AND encode(sha256(convert_to(result, 'UTF8')), 'hex') <> result_hash
        """,
    ),
    Invariant(
        "erasures-are-in-the-trail",
        "a content or a result is gone only where an event says who erased it",
        """
        SELECT 'message', m.id FROM ledgers_message m WHERE m.payload IS NULL AND NOT EXISTS (
            SELECT FROM ledgers_event e WHERE e.kind = 'erase_payload' AND e.step_id = m.step_id
              AND e.detail->>'payload_hash' = m.payload_hash)
        UNION ALL
        SELECT 'step', s.id FROM ledgers_step s
        WHERE s.status = 'completed' AND s.result IS NULL AND NOT EXISTS (
            SELECT FROM ledgers_event e WHERE e.kind = 'erase_result' AND e.step_id = s.id)
        """,
    ),
    Invariant(
        "windows-count-from-the-first-attempt",
        "a key's first use is no later than its first attempt",
        """
        SELECT d.delivery_id, d.key_first_used_at FROM ledgers_delivery d
        JOIN ledgers_attempt a ON a.delivery_id = d.id AND a.number = 1
        WHERE d.key_first_used_at > a.opened_at
        """,
    ),
    Invariant(
        "attempts-are-counted",
        "the attempts of a delivery are numbered from 1 without gap, as many as the row says",
        """
        SELECT d.delivery_id, d.attempt_count, count(a.id) FROM ledgers_delivery d
        LEFT JOIN ledgers_attempt a ON a.delivery_id = d.id
        GROUP BY d.id
        HAVING d.attempt_count <> count(a.id) OR COALESCE(max(a.number), 0) <> count(a.id)
        """,
    ),
    Invariant(
        "accepted-is-never-not-sent",
        "what was accepted is delivered or unknown (or in flight), never claimed as not sent",
        f"""
        SELECT d.delivery_id, d.status FROM ledgers_delivery d
        WHERE d.status IN ('pending', {_NOT_SENT}) AND (
            EXISTS (SELECT 1 FROM ledgers_attempt a
                    WHERE a.delivery_id = d.id AND a.outcome = 'accepted')
            OR EXISTS (SELECT 1 FROM ledgers_evidence v WHERE v.delivery_id = d.id
                       AND v.verdict IN ('found', 'found_many')))
        """,
    ),
    Invariant(
        "doubt-is-never-not-sent",
        "a row with an attempt in doubt claims not sent only after a complete search found nothing",
        f"""
        SELECT d.delivery_id, d.status FROM ledgers_delivery d
        WHERE d.status IN ('pending', {_NOT_SENT})
          AND EXISTS (SELECT 1 FROM ledgers_attempt a WHERE a.delivery_id = d.id AND {_IN_DOUBT})
          AND NOT EXISTS (SELECT 1 FROM ledgers_evidence v
                          WHERE v.delivery_id = d.id AND v.verdict = 'absent')
        """,
    ),
    Invariant(
        "delivered-is-proven",
        "a delivered row has an accepted attempt or evidence, its own or another generation's",
        """
        SELECT d.delivery_id FROM ledgers_delivery d
        WHERE d.status = 'delivered' AND NOT EXISTS (
            SELECT 1 FROM ledgers_delivery e
            LEFT JOIN ledgers_attempt a ON a.delivery_id = e.id AND a.outcome = 'accepted'
            LEFT JOIN ledgers_evidence v ON v.delivery_id = e.id
                AND v.verdict IN ('found', 'found_many')
            WHERE e.message_id = d.message_id AND e.destination = d.destination AND e.part = d.part
              AND (a.id IS NOT NULL OR v.id IS NOT NULL))
        """,
    ),
    Invariant(
        "queue-and-ledger-agree",
        "every open row that needs a machine is queued, and nothing else is",
        f"""
        SELECT d.delivery_id, d.status, 'queued although ended' FROM ledgers_outboxitem o
        JOIN ledgers_delivery d ON d.id = o.delivery_id WHERE d.status NOT IN ({_OPEN})
        UNION ALL
        SELECT d.delivery_id, d.status, 'queued on another channel, or for ever'
        FROM ledgers_outboxitem o
        JOIN ledgers_delivery d ON d.id = o.delivery_id
        JOIN ledgers_message m ON m.id = d.message_id
        WHERE o.channel_id <> m.channel_id
           OR o.due_at > GREATEST(clock_timestamp(), m.not_before) + interval '370 days'
        UNION ALL
        SELECT d.delivery_id, d.status, 'not queued' FROM ledgers_delivery d
        WHERE d.status = 'unknown'
          AND NOT EXISTS (SELECT 1 FROM ledgers_outboxitem o WHERE o.delivery_id = d.id)
          AND split_part(d.cause, ':', 1) NOT IN ('blocked', 'left')
        UNION ALL
        SELECT d.delivery_id, d.status, 'not queued' FROM ledgers_delivery d
        WHERE d.status IN ('pending', 'submitting')
          AND NOT EXISTS (SELECT 1 FROM ledgers_outboxitem o WHERE o.delivery_id = d.id)
          AND split_part(d.cause, ':', 1) NOT IN
              ('absent', 'blocked', 'left', 'earlier-part', 'too-early')
        """,
    ),
    Invariant(
        "every-status-has-its-event",
        "the last move in the trail leads to the status that the row has",
        f"""
        SELECT d.delivery_id, d.status, COALESCE(last.to_status, 'no event') FROM ledgers_delivery d
        LEFT JOIN LATERAL (
            SELECT e.to_status FROM ledgers_event e
            WHERE e.delivery_id = d.id AND e.kind IN ({_MOVE_NAMES}) AND e.row_version IS NOT NULL
            ORDER BY e.row_version DESC LIMIT 1
        ) AS last ON true
        WHERE last.to_status IS DISTINCT FROM d.status
        """,
    ),
    Invariant(
        "moves-are-in-the-table",
        "every move in the trail is one that the table of moves allows",
        f"""
        SELECT e.id, e.kind, e.from_status, e.to_status FROM ledgers_event e
        WHERE e.kind IN ({_MOVE_NAMES}) AND (e.kind, e.from_status, e.to_status) NOT IN (
            VALUES {_allowed_pairs()})
        """,
    ),
    Invariant(
        "moves-follow-each-other",
        "each move in the trail starts where the one before it ended",
        f"""
        SELECT id, delivery_id, from_status, before FROM (
            SELECT e.id, e.delivery_id, e.from_status,
                   lag(e.to_status, 1, '')
                       OVER (PARTITION BY e.delivery_id ORDER BY e.row_version) AS before
            FROM ledgers_event e WHERE e.kind IN ({_MOVE_NAMES}) AND e.delivery_id IS NOT NULL
        ) AS chain WHERE from_status <> before
        """,
    ),
    Invariant(
        "attempts-had-authority",
        "every attempt names the credential, and a destination rule that does allow it",
        """
        SELECT a.id FROM ledgers_attempt a JOIN ledgers_delivery d ON d.id = a.delivery_id
        CROSS JOIN LATERAL (SELECT a.authority->>'destination_rule' AS rule) AS r
        WHERE a.authority->>'credential' IS NULL OR r.rule IS NULL OR NOT (
            d.destination = r.rule
            OR (right(r.rule, 1) = '*' AND starts_with(d.destination, left(r.rule, -1)))
            OR (left(r.rule, 2) = '*@' AND right(d.destination, length(r.rule) - 1)
                = substr(r.rule, 2)))
        """,
    ),
    Invariant(
        "one-open-attempt",
        "at most one attempt of a delivery is open under its present fence",
        """
        SELECT a.delivery_id, count(*) FROM ledgers_attempt a
        JOIN ledgers_delivery d ON d.id = a.delivery_id
        WHERE a.closed_at IS NULL AND a.fence = d.fence
        GROUP BY a.delivery_id HAVING count(*) > 1
        """,
    ),
    Invariant(
        "completed-runs-are-complete",
        "a completed run has no step that is not completed",
        """
        SELECT r.run_id, s.step_id, s.status FROM ledgers_run r
        JOIN ledgers_step s ON s.run_id = r.id
        WHERE r.status = 'completed' AND s.status <> 'completed'
        """,
    ),
    Invariant(
        "rewound-is-explained",
        "what a restore put in doubt has the event that did, and no later release",
        restorecheck.UNEXPLAINED_DOUBT,
    ),
    Invariant(
        "a-restored-ledger-is-not-taken-at-its-word",
        "under the hold of a restore whatever was open is in doubt, or released by people",
        restorecheck.TAKEN_AT_ITS_WORD,
    ),
    Invariant(
        "epochs-are-found-restores",
        "the epoch is raised by each restore that is found, and by nothing else",
        restorecheck.UNCOUNTED_EPOCHS,
    ),
    Invariant(
        "seals-are-a-chain",
        "each seal follows from its leaves and from the seal before it",
        sealcheck.broken_chain,
    ),
    Invariant(
        "sealed-rows-are-unchanged",
        "every event, closed attempt and finding is still what was sealed",
        sealcheck.changed_rows,
    ),
    Invariant(
        "every-row-is-sealed-once",
        "every event, closed attempt and finding is in one seal, or waits for it",
        sealcheck.UNSEALED_ROWS,
    ),
    Invariant(
        "purges-have-their-receipts",
        "what is purged is what its sealed receipt names, and is never begun again",
        sealcheck.UNBOUND_RECEIPTS,
    ),
    Invariant(
        "events-are-about-what-is-there",
        "every event is about a step and an attempt that are there",
        """
        SELECT e.id, e.kind FROM ledgers_event e
        WHERE e.step_id IS NOT NULL AND NOT EXISTS (
                SELECT FROM ledgers_step s WHERE s.id = e.step_id)
           OR e.attempt_id IS NOT NULL AND NOT EXISTS (
                SELECT FROM ledgers_attempt a WHERE a.id = e.attempt_id)
        """,
    ),
)
