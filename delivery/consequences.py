"""Two sentences about one delivery: what sending it now would do, and what doing nothing will.

Pure. The second is `next_move`'s own answer put in words, so the sentence and the worker cannot
disagree.
"""

from datetime import datetime, timedelta

from delivery.facts import Facts
from delivery.next_move import Kind, NextMove, next_move


def if_sent_again(facts: Facts, now: datetime) -> str:
    """What one more submission at this moment could do at the destination.

    "Send again" is only for what may have been accepted, or was until a search showed otherwise.
    """
    doubt = facts.proven_accepted or facts.possibly_accepted or facts.resolved_by_absence
    again = doubt or facts.in_flight_until is not None
    words = "send again" if again else "try again" if facts.attempts else "send it"
    return f"If we {words} now, " + _risk(facts, now)


def if_left(facts: Facts, now: datetime) -> str:
    """What happens next if no person does anything."""
    return "If nothing is done, " + _course(next_move(facts, now), facts, now)


def _risk(facts: Facts, now: datetime) -> str:
    if facts.in_flight_until is not None:
        return "two submissions could be on the wire at once, and both could arrive."
    if facts.proven_accepted or facts.possibly_accepted:
        return _risk_of_a_second(facts, now)
    return _risk_of_a_first(facts, now)


def _risk_of_a_first(facts: Facts, now: datetime) -> str:
    if facts.withdrawn:
        return "it arrives once, although it was withdrawn."
    if facts.expired(now):
        return f"it arrives once, but late: its last moment was {_at(facts.not_after, now)}."
    if facts.refused:
        return f"the recipient will most likely refuse it again: {facts.unreadable or 'it did so'}."
    if facts.resolved_by_absence:
        return "it arrives once: a complete search shows that the earlier one did not arrive."
    return "it arrives once: nothing was accepted before."


def _risk_of_a_second(facts: Facts, now: datetime) -> str:
    first = "it was accepted before" if facts.proven_accepted else "it may have arrived already"
    if facts.key_protects(now):
        until = _at(facts.key_protects_until, now)
        return f"{first}, but the provider recognises the key until {until}: no second effect."
    if facts.key_protects_until is not None:
        until = _at(facts.key_protects_until, now)
        return f"{first}, and the key no longer protects (since {until}): it may arrive twice."
    why = "the provider honours no key for it"
    if facts.policy.key_honoured and facts.policy.window_s > 0:
        why = "the key does not protect here (other scope, or another body under this key)"
    return f"{first}, and {why}: it may arrive twice."


def _course(move: NextMove, facts: Facts, now: datetime) -> str:
    match move.kind:
        case Kind.FINISH:
            return f"it is {move.status.value} for good: {move.why}."
        case Kind.ASK:
            return f"it stays as it is until a person decides: {move.why}."
        case Kind.REST:
            return f"it stays as it is: {move.why}."
        case Kind.LOOK_UP:
            return "a worker searches the destination now; nothing is sent before that."
        case Kind.SUBMIT:
            return f"a worker sends it as soon as one is free{_with_key(move, facts, now)}."
        case Kind.WAIT:
            return _pause(move, facts, now)


def _pause(move: NextMove, facts: Facts, now: datetime) -> str:
    at = _at(move.until, now)
    match move.rule:
        case "in-flight":
            return f"the attempt under way is settled, or it becomes unknown after {at}."
        case "look-up":
            return f"the destination is searched at {at}; nothing is sent before that."
        case "too-early":
            return f"it is sent at {at}."
        case "held" | "earlier-part":
            return f"it waits: {move.why}."
        case _:
            return f"it is sent again at {at}{_with_key(move, facts, now)}: {move.why}."


def _with_key(move: NextMove, facts: Facts, now: datetime) -> str:
    if move.rule != "same-key" or facts.key_protects_until is None:
        return ""
    until = _at(facts.key_protects_until, now)
    return f" with the same key, which the provider recognises until {until}"


def _at(at: datetime | None, now: datetime) -> str:
    """A moment on the clock; with its day where it is not close."""
    if at is None:
        return "an unknown time"
    near = abs(at - now) < timedelta(hours=12)
    return f"{at:%H:%M:%S} UTC" if near else f"{at:%Y-%m-%d %H:%M} UTC"
