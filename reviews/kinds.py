"""The decisions that people make, each with its word, who may ask for it, and what it needs."""

from dataclasses import dataclass

from django.db import models


class Kind(models.TextChoices):
    """What a person decides. The labels are the product's own words, with no synonyms."""

    ARRIVED = "arrived", "it arrived"
    SEND_SAME_KEY = "send_same_key", "send again, with the same key"
    SEND_AFTER_ABSENT = "send_after_absent", "send again, a complete search found nothing"
    SEND_OTHERWISE = "send_otherwise", "send again, although it may have arrived"
    RELEASE = "release", "release, it was not sent"
    TRY_AGAIN = "try_again", "try again"
    LEAVE = "leave", "leave undelivered"
    DISCARD = "discard", "discard expired"
    LOOK_AGAIN = "look_again", "look again at a time"
    CANCEL = "cancel", "cancel"
    APPROVE_TRY = "approve_try", "approve the try"
    REFUSE_TRY = "refuse_try", "refuse the try"


@dataclass(frozen=True, slots=True)
class Needs:
    """What a decision takes.

    `permission`: of `reviews.models.Console`. `sends`: something may leave because of it, so it
    may be taken back for a while. `bound`: it is about the row as it was seen, and void if that
    moved. `note`, `link`, `at`: mandatory besides the reason.
    """

    permission: str = "decide"
    sends: bool = False
    bound: bool = True
    reason: bool = True
    note: bool = False
    link: bool = False
    at: bool = False


NEEDS: dict[Kind, Needs] = {
    Kind.ARRIVED: Needs("triage", note=True, link=True),
    Kind.SEND_SAME_KEY: Needs(sends=True),
    Kind.SEND_AFTER_ABSENT: Needs(sends=True),
    Kind.SEND_OTHERWISE: Needs(sends=True, note=True),
    # After a restore: what was forgotten did not include a send of it, somebody knows.
    Kind.RELEASE: Needs(sends=True, note=True),
    Kind.TRY_AGAIN: Needs(sends=True),
    Kind.LEAVE: Needs(),
    Kind.DISCARD: Needs(),
    Kind.LOOK_AGAIN: Needs("triage", reason=False, at=True),
    # A withdrawal is always safe, and one that loses a race to a fact would be no withdrawal.
    Kind.CANCEL: Needs(bound=False),
    Kind.APPROVE_TRY: Needs("approve", sends=True),
    Kind.REFUSE_TRY: Needs("approve", bound=False),
}


# What may make a second message, if who decides is wrong.
RISKY = frozenset({Kind.SEND_OTHERWISE, Kind.RELEASE})


class Gate(models.TextChoices):
    """Who must agree before a decision is carried out."""

    ONE = "one", "one person"
    TWO = "two", "two people"
    # Where an installation has one operator: typing the destination, and a wait.
    ALONE = "alone", "one person, after a wait"


class Stage(models.TextChoices):
    """How far a decision has come."""

    # A frozen selection that somebody looks at; nothing is asked for yet.
    DRAFT = "draft", "being looked at"
    # Asked for; another person (or the end of the wait) is needed.
    REQUESTED = "requested", "waits for approval"
    # Carried out. What was sent by it may be taken back until its undo ends.
    EXECUTED = "executed", "carried out"
    REFUSED = "refused", "refused by the second person"
    UNDONE = "undone", "taken back in time"
    EXPIRED = "expired", "nobody approved it in time"
    # Something moved since it was asked for, so it is about nothing that exists.
    VOID = "void", "void: what it was about has moved"
