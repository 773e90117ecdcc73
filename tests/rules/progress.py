"""No move repeats for ever: what each move can lead to, and the measure that must go down."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from delivery import next_move
from delivery.facts import AttemptFact, EvidenceFact, Facts
from delivery.next_move import Kind, NextMove

ANSWERS = (
    "accepted", "refused", "unauthorised", "deferred", "not_sent", "not_tried", "in_flight",
    "mismatch", "ambiguous", "",
)  # fmt: skip


def stalls(facts: Facts, now: datetime, move: NextMove) -> bool:
    """Whether some outcome of this move leads straight back to it."""
    if move.kind == Kind.WAIT:
        return _waits_in_vain(facts, now, move)
    if move.kind == Kind.SUBMIT:
        return any(_submits_at_once(later, when) for later, when in submitted(facts, now))
    if move.kind == Kind.LOOK_UP:
        return any(_searches_at_once(later, when) for later, when in searched(facts, now))
    return False


def submitted(facts: Facts, now: datetime) -> Iterator[tuple[Facts, datetime]]:
    """The histories that one submission can lead to, each at the moment it is known."""
    policy = facts.policy
    number = max((a.number for a in facts.own), default=0) + 1
    lease_until = now + timedelta(seconds=60)
    for answer in ANSWERS:
        closed = now + timedelta(seconds=1) if answer else None
        attempt = AttemptFact(
            generation=facts.generation,
            number=number,
            outcome=answer,
            opened_at=now,
            closed_at=closed,
            lease_until=lease_until,
            deadline_s=policy.deadline_s,
            key_scope=policy.key_scope,
            permanent=answer == "refused",
        )
        first_used = facts.key_first_used_at or now
        later = replace(facts, attempts=(*facts.attempts, attempt), key_first_used_at=first_used)
        yield later, closed or lease_until


def searched(facts: Facts, now: datetime) -> Iterator[tuple[Facts, datetime]]:
    for verdict in ("found", "absent", "inconclusive"):
        seen = EvidenceFact(facts.generation, "surface_scan", verdict, taken_at=now)
        yield replace(facts, evidence=(*facts.evidence, seen)), now + timedelta(seconds=1)


def _submits_at_once(facts: Facts, now: datetime) -> bool:
    return next_move.next_move(facts, now).kind == Kind.SUBMIT


def _searches_at_once(facts: Facts, now: datetime) -> bool:
    rounds = facts.look_up_rounds
    return (
        next_move.next_move(facts, now).kind == Kind.LOOK_UP
        and rounds >= len(facts.policy.look_up_schedule)
    ) or rounds == 0


def _waits_in_vain(facts: Facts, now: datetime, move: NextMove) -> bool:
    """At the end of a wait there is something else to do, or a later moment to wait for."""
    until = move.until
    if until is None or until <= now:
        return True
    # Time alone ends a lease.
    attempts = tuple(replace(a, held=a.held and a.lease_until > until) for a in facts.attempts)
    after = next_move.next_move(replace(facts, attempts=attempts), until)
    return after.kind == Kind.WAIT and (after.until is None or after.until <= until)
