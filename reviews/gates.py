"""Whether a decision may be made; if not, why, and what would make it allowed. Pure.

What a decision would lead to is not guessed here: the worker's own rules are asked with the
decision added to the facts. So nothing is allowed that would change nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from delivery.facts import LOOK_UPS, Facts
from delivery.next_move import Kind as Moves
from delivery.next_move import NextMove, next_move
from delivery.timing import after
from ledgers.states import NOT_SENT, DeliveryStatus
from reviews.judged import Conduct, Refusal, Seen
from reviews.kinds import RISKY, Gate, Kind
from reviews.wording import clock, duration

EXPIRES_S = 3600.0  # from request to approval
ALONE_WAIT_S = 600.0  # what replaces the second person
DRAFT_S = 900.0  # for which a selection stays frozen
CAP = 500  # deliveries in one decision
RELEASE_CAP = 2_000  # ... to release after a restore, of one group and for one reason
APPROVAL = "approval required"
# Rules that stand for "it goes out", now or when what holds it is over.
GOING = frozenset({"approved", "due", "held", "too-early", "earlier-part"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a decision about one delivery is allowed, and who must agree to it."""

    kind: Kind
    gate: Gate
    refusal: Refusal | None = None

    @property
    def allowed(self) -> bool:
        return self.refusal is None


Check = Callable[[Seen, Conduct], Refusal | None]


def judge(kind: Kind, seen: Seen, conduct: Conduct) -> Verdict:
    """The gate of one decision about one delivery, as things are now."""
    refusals = (check(seen, conduct) for check in (*CHECKS[kind], _changes_something(kind)))
    return Verdict(kind, gate_of(kind, conduct), next(filter(None, refusals), None))


def gate_of(kind: Kind, conduct: Conduct) -> Gate:
    """Who must agree. What may make a second message takes a second person."""
    if kind not in RISKY:
        return Gate.ONE
    return Gate.TWO if conduct.approvers > 1 else Gate.ALONE


def cap_of(kind: Kind) -> int:
    """How many deliveries one decision may be about."""
    return RELEASE_CAP if kind == Kind.RELEASE else CAP


# --- What stands against a decision, each with what would make it right


def _unclaimed(seen: Seen, conduct: Conduct) -> Refusal | None:
    del conduct
    until = seen.leased_until or seen.facts.in_flight_until
    if until is None and seen.status != DeliveryStatus.SUBMITTING:
        return None
    at = f" until {clock(until, seen.now)}" if until else ""
    return Refusal(f"a worker holds it{at}", "wait until then, and look at what came of it")


def _not_asked_already(seen: Seen, conduct: Conduct) -> Refusal | None:
    del conduct
    if not seen.waiting:
        return None
    return Refusal(seen.waiting, "approve or refuse that one first, or let it expire")


def _stands(*statuses: DeliveryStatus) -> Check:
    """It must be in one of these statuses."""

    def check(seen: Seen, conduct: Conduct) -> Refusal | None:
        del conduct
        if seen.status in statuses:
            return None
        return Refusal(f"it is {seen.status.value}", _INSTEAD[seen.status])

    return check


_INSTEAD = {
    DeliveryStatus.PENDING: "leave it to the workers, or cancel it",
    DeliveryStatus.SUBMITTING: "wait until the attempt under way has ended",
    DeliveryStatus.UNKNOWN: "find out whether it arrived, or send it again by its own decision",
    DeliveryStatus.DELIVERED: "nothing: it has arrived",
    DeliveryStatus.FAILED: "try again: it is known not to have been sent",
    DeliveryStatus.EXPIRED: "try again, or discard expired: it is known not to have been sent",
    DeliveryStatus.CANCELLED: "record a new message: what was cancelled stays so",
}


def _not_decided_so(decision: str) -> Check:
    """It is not decided so already. Once anything new is known it may be, once more."""

    def check(seen: Seen, conduct: Conduct) -> Refusal | None:
        del conduct
        facts = seen.facts
        if facts.decision != decision or facts.new_since_decision:
            return None
        at = clock(facts.decided_at, seen.now)
        return Refusal(f"that is decided already, since {at}", "a look at that decision")

    return check


def _is_newest(seen: Seen, conduct: Conduct) -> Refusal | None:
    del conduct
    if seen.newest == seen.facts.generation:
        return None
    return Refusal(f"generation {seen.newest} stands in its place", "decide about that one")


def _has_content(seen: Seen, conduct: Conduct) -> Refusal | None:
    del conduct
    if not seen.erased:
        return None
    return Refusal("its content was erased", "record a new message")


def _not_withdrawn(seen: Seen, conduct: Conduct) -> Refusal | None:
    del conduct
    if not seen.facts.withdrawn:
        return None
    return Refusal("it was withdrawn: nothing may be sent any more", "record a new message")


def _key_protects(seen: Seen, conduct: Conduct) -> Refusal | None:
    facts = seen.facts
    until, left = facts.key_protects_until, after(seen.now, conduct.undo_s)
    if facts.own_doubt and until is not None and left < until:
        return None
    if until is None:
        why = "no key protects it here: the provider honours none, or not this one any more"
    elif seen.now < until:
        undo = f"undo lasts {conduct.undo_s:g} s"
        why = f"the key protects only until {clock(until, seen.now)}, and {undo}"
    else:
        why = f"the key has not protected it since {clock(until, seen.now)}"
    return Refusal(why, Kind.SEND_OTHERWISE.label + ", which takes two people")


def _no_better_way(seen: Seen, conduct: Conduct) -> Refusal | None:
    if _key_protects(seen, conduct) is None:
        return Refusal(
            f"the key protects it until {clock(seen.facts.key_protects_until, seen.now)}",
            Kind.SEND_SAME_KEY.label + ", which can make no second message",
        )
    return None


def _absent_is_fresh(seen: Seen, conduct: Conduct) -> Refusal | None:
    if not seen.facts.resolved_by_absence:
        return Refusal(
            "no complete search has found nothing", "look again, late enough and completely"
        )
    return _too_old(_last_look(seen, "absent"), seen, conduct)


def _looked_lately(seen: Seen, conduct: Conduct) -> Refusal | None:
    """Where a destination can be searched, a person looks before making a second message."""
    if not seen.facts.policy.can_look_up:
        return None
    return _too_old(_last_look(seen), seen, conduct)


def _too_old(taken_at: datetime | None, seen: Seen, conduct: Conduct) -> Refusal | None:
    if taken_at is None:
        return Refusal("its destination has not been searched", "look again first")
    age_s = ((conduct.asked_at or seen.now) - taken_at).total_seconds()
    if age_s <= conduct.evidence_s:
        return None
    limit = duration(conduct.evidence_s)
    return Refusal(
        f"what the destination showed is {duration(age_s)} old, more than {limit}",
        "look again first",
    )


def _last_look(seen: Seen, *verdicts: str) -> datetime | None:
    return max(
        (
            e.taken_at
            for e in seen.facts.evidence
            if e.method in LOOK_UPS
            and e.generation == seen.facts.generation
            and (not verdicts or e.verdict in verdicts)
        ),
        default=None,
    )


def last_look(seen: Seen) -> datetime | None:
    """When its destination was last searched."""
    return _last_look(seen)


def _can_be_searched(seen: Seen, conduct: Conduct) -> Refusal | None:
    del conduct
    if seen.facts.policy.can_look_up:
        return None
    return Refusal("its channel cannot be searched", "look yourself, and add what you see")


def _was_sent(seen: Seen, conduct: Conduct) -> Refusal | None:
    del conduct
    if seen.facts.attempts or seen.facts.rewound_at is not None:
        return None
    return Refusal("nothing was ever sent by us", "cancel it if somebody else has told them")


def _is_rewound(seen: Seen, conduct: Conduct) -> Refusal | None:
    del conduct
    if seen.facts.rewound:
        return None
    return Refusal("no restore has put it in doubt", _INSTEAD[seen.status])


def _nobody_writes(seen: Seen, conduct: Conduct) -> Refusal | None:
    """A worker that took it just before the restore has its lease and its call's time."""
    del conduct
    until = seen.facts.rewound_at
    if until is None or seen.now >= until:
        return None
    at = clock(until, seen.now)
    return Refusal(f"a worker of before the restore may send it until {at}", "wait until then")


def _searched_since(seen: Seen, conduct: Conduct) -> Refusal | None:
    """Where a destination can be searched, that comes first; and it must have been late enough."""
    del conduct
    settled, last = seen.facts.settled_at(seen.facts.generation), _last_look(seen)
    if not seen.facts.policy.can_look_up or (last and settled and last >= settled):
        return None
    at = f", from {clock(settled, seen.now)} on" if settled else ""
    return Refusal(
        "its destination has not been searched since the restore",
        f"a search by a worker{at}, or: look again",
    )


def _open_or_absent(seen: Seen, conduct: Conduct) -> Refusal | None:
    """Leaving is for what may have arrived, or was shown absent; what is only owed is cancelled."""
    if seen.status == DeliveryStatus.PENDING and not seen.facts.resolved_by_absence:
        return Refusal("it is pending: it is provably not sent", "cancel it")
    return _stands(DeliveryStatus.UNKNOWN, DeliveryStatus.PENDING)(seen, conduct)


def _waits_for_approval(seen: Seen, conduct: Conduct) -> Refusal | None:
    del conduct
    if seen.status == DeliveryStatus.PENDING and APPROVAL in seen.facts.held:
        return None
    return Refusal("it does not wait for an approval", "leave it to the workers")


S = DeliveryStatus
SENDING = (_not_asked_already, _unclaimed)
CHECKS: dict[Kind, tuple[Check, ...]] = {
    Kind.ARRIVED: (
        _unclaimed, _stands(S.UNKNOWN, S.PENDING, *NOT_SENT), _was_sent,
    ),
    Kind.SEND_SAME_KEY: (
        *SENDING, _stands(S.UNKNOWN), _not_decided_so("send_again"), _is_newest, _not_withdrawn,
        _has_content, _key_protects,
    ),
    Kind.SEND_AFTER_ABSENT: (
        *SENDING, _stands(S.PENDING), _not_decided_so("send_again"), _is_newest, _not_withdrawn,
        _has_content, _absent_is_fresh,
    ),
    Kind.SEND_OTHERWISE: (
        *SENDING, _stands(S.UNKNOWN), _is_newest, _not_withdrawn, _has_content, _no_better_way,
        _looked_lately,
    ),
    Kind.RELEASE: (
        *SENDING, _stands(S.UNKNOWN), _is_rewound, _is_newest, _not_withdrawn, _has_content,
        _nobody_writes, _searched_since,
    ),
    Kind.TRY_AGAIN: (*SENDING, _stands(S.FAILED, S.EXPIRED), _is_newest, _has_content),
    Kind.LEAVE: (_unclaimed, _open_or_absent, _not_decided_so("leave")),
    Kind.DISCARD: (_stands(S.EXPIRED), _not_decided_so("leave")),
    Kind.LOOK_AGAIN: (_unclaimed, _stands(S.UNKNOWN), _can_be_searched),
    Kind.CANCEL: (_stands(S.PENDING, S.SUBMITTING, S.UNKNOWN),),
    Kind.APPROVE_TRY: (*SENDING, _waits_for_approval),
    Kind.REFUSE_TRY: (_waits_for_approval,),
}  # fmt: skip


# --- What the worker's own rules make of it


def foresee(kind: Kind, seen: Seen, conduct: Conduct) -> NextMove:
    """What a worker does once the decision stands and may not be taken back any more."""
    now = after(seen.now, conduct.undo_s)
    return next_move(_decided(kind, seen), now)


def _decided(kind: Kind, seen: Seen) -> Facts:
    facts = seen.facts
    if kind == Kind.RELEASE:
        return replace(facts, rewound_at=None, rewound_from=None)
    late = facts.not_after is not None and facts.not_after < seen.now
    decided = replace(
        facts,
        decision="send_again" if kind.value.startswith("send") else "try_again",
        decided_at=seen.now,
        not_after=None if late else facts.not_after,
        withdrawn=False,
        held=tuple(reason for reason in facts.held if reason != APPROVAL),
    )
    if kind != Kind.SEND_OTHERWISE:
        return decided
    return replace(
        decided, generation=facts.generation + 1, rewound_at=None, key_first_used_at=None
    )


def _changes_something(kind: Kind) -> Check:
    """A decision to send must lead to a submission, as far as the rules can tell now."""

    def check(seen: Seen, conduct: Conduct) -> Refusal | None:
        if kind not in GOES:
            return None
        move = foresee(kind, seen, conduct)
        if move.kind in {Moves.SUBMIT, Moves.WAIT} and move.rule in GOING:
            return None
        return Refusal(f"it would still not be sent: {move.why}", "remove what stands against it")

    return check


GOES = frozenset(
    {Kind.SEND_SAME_KEY, Kind.SEND_AFTER_ABSENT, Kind.SEND_OTHERWISE, Kind.TRY_AGAIN,
     Kind.RELEASE, Kind.APPROVE_TRY}
)  # fmt: skip
