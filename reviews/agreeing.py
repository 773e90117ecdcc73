"""Who may agree to a request, and what they must type. Pure."""

from dataclasses import dataclass
from datetime import datetime

from reviews.judged import Refusal
from reviews.kinds import Gate
from reviews.wording import clock


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that waits. `typed`: what must be typed to approve it."""

    gate: Gate
    requested_by: str
    requester_id: int | None
    expires_at: datetime
    ripe_at: datetime | None
    typed: str


@dataclass(frozen=True, slots=True)
class Answering:
    """Who answers a request, and what they typed."""

    name: str
    user_id: int | None
    typed: str = ""


def approval_refused(asked: Asked, by: Answering, now: datetime) -> Refusal | None:
    """Whether this person may approve this request at this moment. Superusers are people too."""
    if now >= asked.expires_at:
        return Refusal(f"the request expired at {clock(asked.expires_at, now)}", "a new request")
    same = by.name == asked.requested_by or (
        by.user_id is not None and by.user_id == asked.requester_id
    )
    if asked.gate == Gate.TWO:
        if not same:
            return None
        return Refusal("who asked for it cannot approve it", "another person's approval")
    if asked.ripe_at is not None and now < asked.ripe_at:
        return Refusal(
            f"it may be approved from {clock(asked.ripe_at, now)} on",
            "a look at the evidence with fresh eyes, and then the approval",
        )
    return typing_refused(asked.typed, by.typed)


def typing_refused(expected: str, typed: str) -> Refusal | None:
    """Whether what was typed is what it is about."""
    if typed.strip() == expected:
        return None
    return Refusal("what was typed is not what this is about", f"{expected}, typed by hand")


def expected_typing(destinations: list[str]) -> str:
    """What somebody types to show that they know what it is about: a destination, or how many."""
    return destinations[0] if len(destinations) == 1 else str(len(destinations))
