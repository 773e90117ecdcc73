"""Deliberate breakages of the rules, each with the property that must notice it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

from delivery import next_move as rules
from delivery.facts import AMBIGUOUS, FOUND, LOOK_UPS, AttemptFact, Facts
from delivery.next_move import Kind, NextMove
from delivery.timing import after
from ledgers.states import DeliveryStatus

Patch = Callable[[pytest.MonkeyPatch], None]

TWICE = "what may be accepted is submitted only under its key or in an approved generation"
STOPPED = "what is stopped is not submitted"
ACCEPTED = "what is accepted is not submitted"
BESIDE = "nothing is submitted beside an open attempt"
PAUSE = "the pause before a submission is respected"
WINDOW = "a submission that needs its key carries the end of the key's window"
NO_WORD = "nothing is sent after complete absence unless a person or the channel says so"
FREE = "what is free is submitted"
NOT_SENT = "not sent is said only where nothing may be accepted"
DELIVERED = "delivered is said exactly where acceptance is proven"
STATUS = "the status tells this identity's own doubt"
FINISHED = "what has ended without doubt is finished, with the first reason that applies"
ASKED = "a person is asked only where no automatic step is left"
HEARD = "an approval changes something"
LEFT = "what a person left is left alone"
SEARCH = "a search is made only for an own doubt, once settled, and while the schedule lasts"
LATER = "a wait ends later than now, and what expires does not wait beyond it"
STALLS = "no move repeats for ever"
TABLE = "the first rule of the table that applies decides"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One breakage: what was done to the rules, and which property notices."""

    name: str
    noticed_by: str
    patch: Patch


def without(rule: str, noticed_by: str) -> Mutant:
    def patch(m: pytest.MonkeyPatch) -> None:
        m.setattr(rules, "RULES", tuple(r for r in rules.RULES if r.__name__ != rule))

    return Mutant(f"without {rule}", noticed_by, patch)


def moved(rule: str, before: str, noticed_by: str) -> Mutant:
    def patch(m: pytest.MonkeyPatch) -> None:
        names = [r.__name__ for r in rules.RULES]
        others = [r for r in rules.RULES if r.__name__ != rule]
        place = [r.__name__ for r in others].index(before)
        others.insert(place, rules.RULES[names.index(rule)])
        m.setattr(rules, "RULES", tuple(others))

    return Mutant(f"{rule} before {before}", noticed_by, patch)


def fact(name: str, changed: Callable[[Any], object], noticed_by: str, why: str) -> Mutant:
    def patch(m: pytest.MonkeyPatch) -> None:
        m.setattr(Facts, name, property(changed))

    return Mutant(why, noticed_by, patch)


def of_attempt(name: str, changed: Callable[[Any], object], noticed_by: str, why: str) -> Mutant:
    def patch(m: pytest.MonkeyPatch) -> None:
        m.setattr(AttemptFact, name, property(changed))

    return Mutant(why, noticed_by, patch)


def replaced(target: str, value: object, noticed_by: str, why: str) -> Mutant:
    return Mutant(why, noticed_by, lambda m: m.setattr(target, value))


# What the broken parts look like


def _ambiguous_but(missing: str) -> Callable[[AttemptFact], bool]:
    return lambda a: a.outcome in AMBIGUOUS - {missing} or a.abandoned


def _window(slack: Callable[[Facts], float], *, scope: bool = True, mismatch: bool = True) -> Any:
    def until(f: Facts) -> datetime | None:
        p, first = f.policy, f._key_first_used
        own = [a for a in f.own if a.ambiguous]
        wrong = scope and any(a.key_scope != p.key_scope for a in own)
        wrong = wrong or (mismatch and any(a.outcome == "mismatch" for a in own))
        if not p.key_honoured or first is None or wrong:
            return None
        return after(first, p.window_s - slack(f))

    return until


def _usual(f: Facts) -> float:
    return f.policy.deadline_s + f.policy.margin_s


def _absent_if(*, settled: bool = True, covered: bool = True, by_search: bool = True) -> Any:
    def absent(f: Facts, generation: int) -> bool:
        at, first = f.settled_at(generation), f.first_possible_at
        return at is not None and any(
            e.verdict == "absent"
            and e.generation == generation
            and (not by_search or e.method in LOOK_UPS)
            and (not settled or e.taken_at >= at)
            and (not covered or not e.covered_from or not first or e.covered_from <= first)
            for e in f.evidence
        )

    return absent


def _absent_of_any(f: Facts, generation: int) -> bool:
    return any(_absent_if()(f, g) for g in {generation, 1, 2})


def _in_flight_names_submitting(facts: Facts, now: datetime) -> NextMove | None:
    until = facts.in_flight_until
    if until is None:
        return None
    return NextMove(Kind.WAIT, "in-flight", DeliveryStatus.SUBMITTING, "", until=max(until, now))


def _free_at_once(facts: Facts, now: datetime, rule: str, why: str) -> NextMove:
    del now
    return rules._submit(facts, rule, why)


def _free_although_held(facts: Facts, now: datetime, rule: str, why: str) -> NextMove:
    ready = max(filter(None, (rules._ready_at(facts), rules._quiet_at(facts))), default=now)
    if now >= ready:
        return rules._submit(facts, rule, why)
    return rules._wait(facts, rule, ready, why)


def _held_asks(facts: Facts, now: datetime) -> NextMove | None:
    del now
    if not facts.held:
        return None
    return NextMove(Kind.ASK, "held", rules._standing(facts), "held")


def _waits_until_now(facts: Facts, now: datetime) -> NextMove | None:
    return rules._wait(facts, "held", now, "held") if facts.held else None


def _ready_without_pause(facts: Facts) -> datetime | None:
    return facts.not_before


def _submit_without_limit(facts: Facts, rule: str, why: str) -> NextMove:
    return NextMove(Kind.SUBMIT, rule, rules._standing(facts), why)


def _always_looks(facts: Facts, now: datetime) -> NextMove | None:
    if not (facts.possibly_accepted and facts.policy.can_look_up):
        return None
    del now
    return NextMove(Kind.LOOK_UP, "look-up", rules._standing(facts), "")


def _approved_in_any_case(facts: Facts, now: datetime) -> NextMove | None:
    if not facts.possibly_accepted or facts.decision != "send_again" or facts.ended(now):
        return None
    return rules._when_free(facts, now, "approved", "")


def _approved_only_if_nothing_holds(facts: Facts, now: datetime) -> NextMove | None:
    return None if facts.held or facts.earlier_part_open else _APPROVED(facts, now)


_APPROVED = rules.approved


def instead_of(rule: str, other: Callable[..., object], noticed_by: str, why: str) -> Mutant:
    def patch(m: pytest.MonkeyPatch) -> None:
        changed = [other if r.__name__ == rule else r for r in rules.RULES]
        m.setattr(rules, "RULES", tuple(changed))

    return Mutant(why, noticed_by, patch)


MUTANTS: tuple[Mutant, ...] = (
    # Rules left out
    without("proven_accepted", ACCEPTED),
    without("in_flight", BESIDE),
    without("approved", HEARD),
    without("look_up", ASKED),
    without("same_key", ASKED),
    without("blocked", TWICE),
    without("refused", STOPPED),
    without("withdrawn", STOPPED),
    without("expired", STOPPED),
    without("exhausted", STOPPED),
    without("left", LEFT),
    without("absent", NO_WORD),
    without("earlier_part", STOPPED),
    without("held", STOPPED),
    without("too_early", PAUSE),
    # Rules in another order
    moved("in_flight", "proven_accepted", DELIVERED),
    moved("approved", "in_flight", BESIDE),
    moved("same_key", "in_flight", BESIDE),
    moved("blocked", "same_key", ASKED),
    moved("blocked", "look_up", ASKED),
    moved("refused", "approved", NOT_SENT),
    moved("withdrawn", "look_up", NOT_SENT),
    moved("expired", "blocked", NOT_SENT),
    moved("exhausted", "proven_accepted", NOT_SENT),
    moved("expired", "withdrawn", FINISHED),
    moved("exhausted", "expired", FINISHED),
    moved("absent", "refused", FINISHED),
    moved("held", "refused", FINISHED),
    moved("blocked", "in_flight", STATUS),
    moved("same_key", "look_up", TABLE),
    # What may have been accepted
    of_attempt("abandoned", lambda a: False, TWICE, "an abandoned attempt was never sent"),
    of_attempt("ambiguous", _ambiguous_but("mismatch"), TWICE, "a mismatch proves nothing"),
    of_attempt("ambiguous", _ambiguous_but("in_flight"), TWICE, "'in flight' proves nothing"),
    of_attempt("ambiguous", _ambiguous_but("ambiguous"), TWICE, "ambiguous means not sent"),
    fact("rewound", lambda f: False, TWICE, "a restore forgets nothing"),
    fact("possibly_accepted", lambda f: f.own_doubt, TWICE, "only the own generation counts"),
    fact("own_doubt", lambda f: f.possibly_accepted, STATUS, "every doubt is an own doubt"),
    fact("proven_accepted", lambda f: any(e.verdict in FOUND for e in f.evidence), DELIVERED,
         "an accepted attempt proves nothing"),
    fact("proven_accepted", lambda f: any(a.outcome == "accepted" for a in f.own), DELIVERED,
         "another generation's acceptance and evidence count nothing"),
    replaced("delivery.facts.FOUND", frozenset({"found"}), DELIVERED, "found_many is nothing"),
    # What shows that it was not
    replaced("delivery.facts.Facts._absent", _absent_if(settled=False), TWICE,
             "absent counts before the settle delay"),
    replaced("delivery.facts.Facts._absent", _absent_if(covered=False), TWICE,
             "absent counts whatever was covered"),
    replaced("delivery.facts.Facts._absent", _absent_if(by_search=False), TWICE,
             "a person's word counts as a complete search"),
    replaced("delivery.facts.Facts._absent", _absent_of_any, TWICE,
             "absence of one generation clears the other"),
    replaced("delivery.facts.Facts._absent", lambda f, g: False, FINISHED,
             "absent never counts"),
    fact("first_possible_at", lambda f: min((a.opened_at for a in f.attempts), default=None),
         TWICE, "a search need not cover what a restore forgot"),
    # The key
    fact("key_protects_until", _window(_usual, scope=False), TWICE, "another scope is as good"),
    fact("key_protects_until", _window(_usual, mismatch=False), TWICE,
         "a key used with another body protects"),
    fact("key_protects_until", _window(lambda f: f.policy.margin_s), TWICE,
         "the call's own time is not counted in the window"),
    fact("key_protects_until", _window(lambda f: f.policy.deadline_s), TWICE,
         "the margin is not counted in the window"),
    fact("_key_first_used", lambda f: f.key_first_used_at or f.rewound_at, TWICE,
         "the window starts at the restore, not at the restore point"),
    replaced("delivery.next_move._submit", _submit_without_limit, WINDOW,
             "the window is checked at the decision only"),
    # Decisions of people
    instead_of("approved", _approved_in_any_case, TWICE, "an approval is never used up"),
    instead_of("approved", _approved_only_if_nothing_holds, HEARD, "a hold voids an approval"),
    fact("needs_key", lambda f: False, TWICE, "one person may do without the key"),
    fact("needs_key", lambda f: f.possibly_accepted and f.generation == 1, TWICE,
         "a second generation never needs its key"),
    fact("told_to_go_on", lambda f: f.decision in {"try_again", "send_again"}, NO_WORD,
         "one decision allows every later resend"),
    fact("left", lambda f: False, LEFT, "'leave' means nothing"),
    fact("considered", lambda f: f.own, FREE, "a decision forgives nothing"),
    fact("considered", lambda f: (), STOPPED, "refusals and attempts never count"),
    # Times
    replaced("delivery.next_move._when_free", _free_at_once, PAUSE, "same-key waits for nothing"),
    replaced("delivery.next_move._when_free", _free_although_held, STOPPED,
             "same-key goes out although held"),
    replaced("delivery.next_move._quiet_at", lambda f: None, PAUSE,
             "same-key does not wait for the settle delay"),
    replaced("delivery.next_move._ready_at", _ready_without_pause, PAUSE, "there is no backoff"),
    replaced("delivery.next_move.asked_pause_s", lambda s: 0.0, PAUSE, "Retry-After is ignored"),
    instead_of("held", _waits_until_now, LATER, "a hold is looked at again at once"),
    instead_of("held", _held_asks, ASKED, "a hold asks a person"),
    replaced("delivery.facts.Facts.expired", lambda f, now: False, STOPPED, "nothing expires"),
    fact("exhausted", lambda f: f.attempts_used > f.policy.max_attempts, STOPPED,
         "one attempt too many"),
    replaced("delivery.facts.COUNTED", frozenset({"deferred", "refused", "not_sent", ""}),
             FINISHED, "a rate limit uses up the budget"),
    # Looking
    instead_of("look_up", _always_looks, SEARCH, "the search schedule never ends"),
    fact("look_up_rounds", lambda f: 0, STALLS, "searches are not counted"),
    fact("look_up_rounds", lambda f: len(f.evidence) + 3, ASKED, "searches count threefold"),
    replaced("delivery.facts.Facts.settled_at", lambda f, g: f.first_possible_at, SEARCH,
             "a search need not wait for the settle delay"),
    # What is said
    instead_of("in_flight", _in_flight_names_submitting, STATUS,
               "another generation's attempt makes this row 'submitting'"),
    replaced("delivery.next_move._standing", lambda f: DeliveryStatus.PENDING, STATUS,
             "doubt is called pending"),
)  # fmt: skip
