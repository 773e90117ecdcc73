"""What a person asks for, and whether it is complete. Nothing is written here."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from delivery.errors import InvalidInputError
from ledgers.canonical import check_text, sha256
from reviews import agreeing
from reviews.asking import MAX_REASON
from reviews.errors import NotAllowedError
from reviews.kinds import NEEDS, RISKY, Kind
from reviews.records import Decision

LIMITS = {"reason": MAX_REASON, "note": MAX_REASON, "link": 1000, "ticket": 200}
WHAT = {
    "reason": "why, in words that somebody understands next year",
    "note": "what was seen, in words",
    "link": "where it can be seen: an address, the provider's id, a ticket",
    "ticket": "the name of a ticket",
}


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for, besides about which deliveries.

    Args:
        kind: the decision.
        reason: why; mandatory for all but "look again".
        ticket: where it is discussed.
        note: what the person saw, where that is the evidence.
        link: where it can be seen: an address, the provider's id, a ticket.
        look_at: when to look again, with its zone.
        typed: the destination (or for several, how many) typed by hand, where that is asked for.
    """

    kind: Kind
    reason: str = ""
    ticket: str = ""
    note: str = ""
    link: str = ""
    look_at: datetime | None = None
    typed: str = ""


def kind_named(name: str) -> Kind:
    """The decision of this name.

    Raises:
        InvalidInputError: there is none.
    """
    if name not in Kind.values:
        right = "one of: " + ", ".join(Kind.values)
        raise InvalidInputError("kind", "names no decision", right)
    return Kind(name)


def wish_of(decision: Decision, typed: str = "") -> Wish:
    """The wish that was written down with a selection.

    Raises:
        InvalidInputError: none was.
    """
    return Wish(
        kind_named(decision.kind),
        reason=decision.reason,
        ticket=decision.ticket,
        note=decision.note,
        link=decision.link,
        look_at=decision.look_at,
        typed=typed,
    )


def digest(decision: Decision) -> str:
    """Tells apart what was written down with a selection, so that a page confirms what it shows."""
    said = [decision.kind, *(getattr(decision, name) for name in LIMITS), str(decision.look_at)]
    return sha256("\x00".join(said))[:16]


def check(wish: Wish) -> None:
    """Complete, and fit to be kept.

    Raises:
        InvalidInputError: naming the field.
    """
    needs = NEEDS[wish.kind]
    for field, limit in LIMITS.items():
        _check_field(field, getattr(wish, field), limit, needed=getattr(needs, field, False))
    if needs.at and (wish.look_at is None or wish.look_at.tzinfo is None):
        raise InvalidInputError("look_at", "is missing", "a moment with its zone")


def _check_field(field: str, text: str, limit: int, *, needed: bool) -> None:
    check_text(text, field)
    if len(text) > limit:
        raise InvalidInputError(field, f"has {len(text)} characters", f"at most {limit}")
    if needed and not text.strip():
        raise InvalidInputError(field, "is empty", WHAT[field])


def answer_of(text: str) -> str:
    """What somebody says to a request, as it is kept.

    Raises:
        InvalidInputError: it cannot be kept.
    """
    _check_field("answer", text, MAX_REASON, needed=False)
    return text.strip()


def check_typing(wish: Wish, destinations: Sequence[str]) -> None:
    """What may make a second message is asked for only by who types what it is about.

    Raises:
        NotAllowedError: it was not typed.
    """
    if wish.kind not in RISKY:
        return
    refusal = agreeing.typing_refused(agreeing.expected_typing(list(destinations)), wish.typed)
    if refusal is not None:
        raise NotAllowedError(refusal)
