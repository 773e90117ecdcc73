"""The rules: what may be done next about one delivery. Pure, ordered, each with a name.

`next_move(facts, now)` looks at the whole history and answers with one move. The first rule that
applies decides, and every rule that submits stands behind every rule that forbids it. No I/O, no
clock, no settings: what is not in `Facts` cannot matter.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from delivery.facts import COUNTED, Facts
from delivery.timing import after, asked_pause_s, backoff_s
from ledgers.states import DeliveryStatus

# How often a held delivery is looked at again, in seconds. Lifting a hold wakes its items at once,
# so this only bounds what a lost wake-up costs.
HOLD_RECHECK_S = 30.0

# A part is woken by the end of the one before it. Only that wake-up lost, it looks by itself.
PART_RECHECK_S = 600.0

# What costs no attempt again and again costs so many seconds each time: no budget ends it.
FREE_PAUSE_S = 1.0


class Kind(StrEnum):
    """What is to be done."""

    SUBMIT = "submit"
    WAIT = "wait"
    LOOK_UP = "look_up"
    ASK = "ask"
    REST = "rest"
    FINISH = "finish"


@dataclass(frozen=True, slots=True)
class NextMove:
    """One decision.

    `status`: what the row is until the move changes it. `until`: when to look again (WAIT).
    `before`: the last moment at which a first byte may leave (SUBMIT). `why`: in plain words.
    """

    kind: Kind
    rule: str
    status: DeliveryStatus
    why: str
    until: datetime | None = None
    before: datetime | None = None


Rule = Callable[[Facts, datetime], NextMove | None]


def next_move(facts: Facts, now: datetime) -> NextMove:
    """The one move that the history allows.

    Args:
        facts: everything about the delivery.
        now: the database clock's time when the facts were read.
    """
    for rule in RULES:
        move = rule(facts, now)
        if move is not None:
            return move
    return _submit(facts, "due", "nothing stands against it")


def proven_accepted(facts: Facts, now: datetime) -> NextMove | None:
    del now
    if not facts.proven_accepted:
        return None
    return _finish("proven-accepted", DeliveryStatus.DELIVERED, "acceptance is proven")


def in_flight(facts: Facts, now: datetime) -> NextMove | None:
    until = facts.in_flight_until
    if until is None:
        return None
    return NextMove(
        Kind.WAIT,
        "in-flight",
        # Another generation's attempt makes this row wait; it does not move it.
        DeliveryStatus.SUBMITTING if facts.own_in_flight else _standing(facts),
        "an attempt is open and its lease is held",
        until=max(until, now),
    )


def approved(facts: Facts, now: datetime) -> NextMove | None:
    if not facts.possibly_accepted or not facts.approved or facts.ended(now):
        return None
    if facts.needs_key and not facts.key_protects(now):
        # The same identity may go out again only while the provider deduplicates it.
        return None
    return _when_free(facts, now, "approved", "a person approved sending it again")


def look_up(facts: Facts, now: datetime) -> NextMove | None:
    at = _next_look_up_at(facts, now)
    if at is None:
        return None
    if now < at:
        return _wait(facts, "look-up", at, "the destination is searched next")
    return NextMove(Kind.LOOK_UP, "look-up", _standing(facts), "the destination is searched now")


def same_key(facts: Facts, now: datetime) -> NextMove | None:
    if not facts.possibly_accepted or not _same_key_possible(facts, now):
        return None
    return _when_free(facts, now, "same-key", "the provider still deduplicates this key")


def blocked(facts: Facts, now: datetime) -> NextMove | None:
    if not facts.possibly_accepted:
        return None
    why = "it may have been accepted, and no machine can tell"
    if facts.left:
        return NextMove(Kind.REST, "blocked", _standing(facts), "a person decided to leave it")
    if facts.approved and not facts.ended(now):
        why = "a person approved the same key, which no longer protects"
    return NextMove(Kind.ASK, "blocked", _standing(facts), why)


def refused(facts: Facts, now: datetime) -> NextMove | None:
    del now
    if not facts.refused:
        return None
    why = facts.unreadable or "the recipient refused it for good"
    return _finish("refused", DeliveryStatus.FAILED, why)


def withdrawn(facts: Facts, now: datetime) -> NextMove | None:
    del now
    if not facts.withdrawn:
        return None
    return _finish("withdrawn", DeliveryStatus.CANCELLED, "it was withdrawn in time")


def expired(facts: Facts, now: datetime) -> NextMove | None:
    if not facts.expired(now):
        return None
    return _finish("expired", DeliveryStatus.EXPIRED, "its last moment has passed")


def exhausted(facts: Facts, now: datetime) -> NextMove | None:
    del now
    if not facts.exhausted:
        return None
    return _finish("exhausted", DeliveryStatus.FAILED, "all its attempts are used")


def left(facts: Facts, now: datetime) -> NextMove | None:
    del now
    if not facts.left:
        return None
    return NextMove(Kind.REST, "left", DeliveryStatus.PENDING, "a person decided to leave it")


def absent(facts: Facts, now: datetime) -> NextMove | None:
    del now
    if not facts.resolved_by_absence or facts.policy.resend_after_absent:
        return None
    if facts.told_to_go_on:
        return None
    return NextMove(
        Kind.ASK,
        "absent",
        DeliveryStatus.PENDING,
        "a complete search shows that it did not arrive; a person decides whether to send it",
    )


def earlier_part(facts: Facts, now: datetime) -> NextMove | None:
    if not facts.earlier_part_open:
        return None
    if facts.earlier_part_ended:
        why = "an earlier part will not be delivered; a person decides about the rest"
        return NextMove(Kind.ASK, "earlier-part", _standing(facts), why)
    until = after(now, PART_RECHECK_S)
    return _wait(facts, "earlier-part", until, "an earlier part is not delivered")


def held(facts: Facts, now: datetime) -> NextMove | None:
    if not facts.held:
        return None
    until = after(now, HOLD_RECHECK_S)
    return _wait(facts, "held", until, "held: " + "; ".join(facts.held))


def too_early(facts: Facts, now: datetime) -> NextMove | None:
    ready = _ready_at(facts)
    if ready is None or now >= ready:
        return None
    return _wait(facts, "too-early", _before_expiry(facts, ready), "its time has not come")


RULES: tuple[Rule, ...] = (
    proven_accepted,
    in_flight,
    approved,
    look_up,
    same_key,
    blocked,
    refused,
    withdrawn,
    expired,
    exhausted,
    left,
    absent,
    earlier_part,
    held,
    too_early,
)


def _standing(facts: Facts) -> DeliveryStatus:
    """What the row itself is. A second generation is not unknown because the first one is."""
    return DeliveryStatus.UNKNOWN if facts.own_doubt else DeliveryStatus.PENDING


def _finish(rule: str, status: DeliveryStatus, why: str) -> NextMove:
    return NextMove(Kind.FINISH, rule, status, why)


def _wait(facts: Facts, rule: str, until: datetime, why: str) -> NextMove:
    return NextMove(Kind.WAIT, rule, _standing(facts), why, until=until)


def _submit(facts: Facts, rule: str, why: str) -> NextMove:
    limits = [facts.not_after]
    if facts.needs_key:
        limits.append(facts.key_protects_until)
    before = min((limit for limit in limits if limit is not None), default=None)
    return NextMove(Kind.SUBMIT, rule, _standing(facts), why, before=before)


def _when_free(facts: Facts, now: datetime, rule: str, why: str) -> NextMove:
    """Submit, or wait for what stands in the way; never past the end of the key's protection."""
    ready = max(filter(None, (_ready_at(facts), _quiet_at(facts))), default=now)
    if facts.held or facts.earlier_part_open:
        ready = max(ready, after(now, HOLD_RECHECK_S))
        reasons = facts.held or ("an earlier part is not delivered",)
        why = f"{why}; held: " + "; ".join(reasons)
    if now >= ready:
        return _submit(facts, rule, why)
    if facts.needs_key and facts.key_protects_until is not None:
        ready = min(ready, facts.key_protects_until)
    return _wait(facts, rule, _before_expiry(facts, ready), why)


def _before_expiry(facts: Facts, ready: datetime) -> datetime:
    """No wait outlasts `not_after`: what has expired says so at once, not when it would be due."""
    if facts.not_after is None:
        return ready
    return min(ready, after(facts.not_after, 1e-6))


def _ready_at(facts: Facts) -> datetime | None:
    """When neither `not_before` nor the pause after the last attempt stands in the way any more.

    A person's decision to go on starts the channel's own schedule anew. What the provider asked
    for holds all the same.
    """
    moments = [facts.not_before] if facts.not_before else []
    last = max(facts.own, key=lambda a: a.number, default=None)
    if last is not None:
        count = len(facts.considered)
        pause = backoff_s(facts.delivery_id, count, facts.policy.retry_schedule)
        if sum(a.outcome not in COUNTED for a in facts.own[-2:]) == 2:
            pause = max(pause, FREE_PAUSE_S)
        moments.append(after(last.ended_by, max(pause, asked_pause_s(last.retry_after_s))))
    return max(moments, default=None)


def _quiet_at(facts: Facts) -> datetime | None:
    """When every earlier submission has ended and the provider had time to take it in."""
    ends = [a.ended_by for a in facts.own if a.ambiguous]
    if facts.rewound_at is not None:
        ends.append(facts.rewound_at)
    if not ends:
        return None
    return after(max(ends), facts.policy.processing_s)


def _same_key_possible(facts: Facts, now: datetime) -> bool:
    return facts.own_doubt and facts.key_protects(now) and not facts.ended(now)


def _next_look_up_at(facts: Facts, now: datetime) -> datetime | None:
    """When the destination is to be searched next, or None if it cannot or need not be.

    What is searched for is this very identity, so another generation's doubt is left to that
    generation. The schedule counts from the end of the last attempt in doubt; where its first entry
    comes before a search can settle anything, all of it moves. A search that would leave no room
    for the same key is not waited for: the key settles the question while it can.
    """
    policy = facts.policy
    settled = facts.settled_at(facts.generation)
    if not facts.own_doubt or not policy.can_look_up or settled is None:
        return None
    wanted = min(_looks_wanted(facts, settled), default=None)
    if wanted is None:
        return None
    at = max(filter(None, (wanted, settled, facts.no_question_before)))
    until = facts.key_protects_until
    if until is not None and _same_key_possible(facts, now):
        room = policy.deadline_s + policy.margin_s
        if after(at, room) >= until:
            return None
    return at


def _looks_wanted(facts: Facts, settled: datetime) -> Iterator[datetime]:
    """When the schedule wants the next search, and when a person does."""
    schedule, rounds = facts.policy.look_up_schedule, facts.look_up_rounds
    if rounds < len(schedule):
        # Moved as a whole: entries before the settling would else all be searches of one moment.
        began = _doubt_began(facts, settled)
        moved_s = (settled - after(began, schedule[0])).total_seconds()
        yield after(after(began, schedule[rounds]), max(moved_s, 0.0))
    if facts.look_asked_for is not None:
        yield facts.look_asked_for


def _doubt_began(facts: Facts, settled: datetime) -> datetime:
    """The end of the last submission under this identity that may have been accepted."""
    ends = [a.ended_by for a in facts.doubtful if a.generation == facts.generation]
    if facts.rewound and facts.rewound_at is not None:
        ends.append(facts.rewound_at)
    return max(ends, default=settled)
