"""One plain sentence about a delivery, and the boundary at which its last attempt fell. Pure."""

from dataclasses import dataclass
from datetime import datetime

from delivery.facts import AMBIGUOUS, FOUND, Facts
from ledgers.states import DeliveryStatus
from reviews.wording import clock, duration


@dataclass(frozen=True, slots=True)
class Try:
    """The last attempt, as far as the sentence needs it. `lost`: open, and its lease is over."""

    number: int
    outcome: str
    phase: str
    bytes_written: int
    opened_at: datetime
    closed_at: datetime | None
    lost: bool
    late: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class Boundary:
    """Where the crash, or the ambiguous answer, fell. `key` groups deliveries into incidents."""

    key: str
    words: str


BOUNDARIES = {
    "lost": "the worker was lost between submitting and result",
    "restored": "a restore has forgotten what was sent",
    "mismatch": "the provider takes it for another message",
    "in_flight": "the provider says that an earlier submission is under way",
    "connecting": "broke while connecting",
    "connected": "broke before the first byte was out",
    "writing": "broke while it was being sent",
    "written": "no answer after the last byte",
    "status": "an answer that proves nothing",
    "": "the sender does not say how far it got",
}


def boundary_key(outcome: str, phase: str, *, lost: bool, restored: bool = False) -> str:
    """The name of the boundary of one attempt; the same words as in SQL that groups by it."""
    if outcome in {"mismatch", "in_flight"}:
        return outcome
    if lost:
        return "lost"
    return "restored" if restored and not outcome else phase


def boundary(facts: Facts, last: Try | None) -> Boundary | None:
    """Where it was lost, or None for what is in no doubt."""
    if not facts.possibly_accepted and not facts.resolved_by_absence:
        return None
    restored = facts.rewound_at is not None
    if last is not None and (last.lost or last.outcome in AMBIGUOUS):
        key = boundary_key(last.outcome, last.phase, lost=last.lost, restored=restored)
    elif restored:
        key = "restored"
    else:
        return None  # the doubt is another generation's
    return Boundary(key, BOUNDARIES.get(key, key))


def sentence(
    status: DeliveryStatus, facts: Facts, last: Try | None, cause: str, now: datetime
) -> str:
    """What somebody woken at night should read first."""
    match status:
        case DeliveryStatus.UNKNOWN:
            return _doubt(facts, last)
        case DeliveryStatus.PENDING:
            return _owed(facts)
        case DeliveryStatus.SUBMITTING:
            until = facts.in_flight_until
            rest = f", at the latest until {clock(until, now)}" if until else ""
            return f"It is on the wire now{rest}."
        case DeliveryStatus.DELIVERED:
            return f"It arrived: {_proof(facts)}."
        case _:
            why = cause.partition(": ")[2] or cause
            return f"It was not sent, provably: {why}."


def _doubt(facts: Facts, last: Try | None) -> str:
    left = " A person decided to leave it." if facts.left else ""
    return f"It may have arrived: {_how(facts, last)}.{left}"


def _how(facts: Facts, last: Try | None) -> str:
    if last is None or not (last.lost or last.outcome in AMBIGUOUS):
        if facts.rewound_at is not None:
            return "a restore has forgotten what was sent before it"
        return "an earlier generation of it is in doubt"
    if last.lost:
        return "the worker was lost after it had begun to send, and left no result"
    if last.outcome == "mismatch":
        return "the provider takes it for another message, by its key or by the id it named"
    if last.outcome == "in_flight":
        return "the provider says that an earlier submission with this key is still under way"
    return f"{_broke(last)}{_after(last)}"


def _broke(last: Try) -> str:
    size = f"{last.bytes_written} bytes"
    return {
        "connecting": "the connection was being made when it broke",
        "connected": "the connection broke before the first byte was out",
        "writing": f"the connection broke when {size} were out",
        "written": f"all {size} were out, and the answer was lost",
        "status": f"all {size} were out, and the answer proves nothing",
    }.get(last.phase, "the sender failed without saying how far it got")


def _after(last: Try) -> str:
    if last.closed_at is None:
        return ""
    seconds = (last.closed_at - last.opened_at).total_seconds()
    span = duration(seconds) if seconds >= 10 else f"{seconds:.1f} s"
    if seconds < 0.1:
        span = f"{1000 * seconds:.0f} ms"
    return f", {span} after the call began"


def _owed(facts: Facts) -> str:
    if facts.resolved_by_absence:
        if facts.told_to_go_on:
            return "It did not arrive, and a person decided to send it."
        return "It did not arrive: a complete search found nothing. A person decides what now."
    if facts.held:
        return "It has not been sent, and waits: " + "; ".join(facts.held) + "."
    return "It has not been sent, and is owed."


def _proof(facts: Facts) -> str:
    """What shows it. Where only another generation's proof ends the doubt, it says so."""
    accepted = {a.generation for a in facts.attempts if a.outcome == "accepted"}
    found = [e for e in facts.evidence if e.verdict in FOUND]
    shown = accepted | {e.generation for e in found}
    if facts.generation in accepted:
        return "the provider accepted it"
    if shown and facts.generation not in shown:
        rest = ", and whether this one did as well, nobody knows" if facts.own_doubt else ""
        return f"generation {max(shown)} of it did{rest}"
    if any(e.verdict == "found_many" for e in found):
        return "it was found more than once at its destination"
    if found and all(e.method == "operator" for e in found):
        return "a person saw it there"
    return "it was found at its destination"
