"""What must hold of every move, whatever the facts. Each property is a sentence with a check."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from delivery import inputs, next_move
from delivery.facts import Facts
from delivery.next_move import Kind, NextMove
from ledgers.states import NOT_SENT, DeliveryStatus
from tests.rules.progress import stalls
from tests.rules.scenarios import DEADLINE, MARGIN, NOT_OVER, QUIET, Scenario, build, moment
from tests.rules.truth import LOOKS, Truth, truth


@dataclass(frozen=True, slots=True)
class Judged:
    """One answer and everything needed to judge it."""

    scenario: Scenario
    facts: Facts
    now: datetime
    move: NextMove
    true: Truth


Check = Callable[[Judged], bool]
PROPERTIES: dict[str, Check] = {}


def claim(sentence: str) -> Callable[[Check], Check]:
    def keep(check: Check) -> Check:
        PROPERTIES[sentence] = check
        return check

    return keep


def broken(scenario: Scenario) -> Iterator[str]:
    """The properties that the rules' answer breaks."""
    facts, now = build(scenario)
    move = next_move.next_move(facts, now)
    judged = Judged(scenario, facts, now, move, truth(scenario))
    for sentence, holds in PROPERTIES.items():
        if not holds(judged):
            yield sentence


def judge(scenario: Scenario) -> str:
    """The first property that the rules' answer breaks, or an empty string."""
    return next(broken(scenario), "")


# --- What is sent


@claim("what is accepted is not submitted")
def _(j: Judged) -> bool:
    return not (j.move.kind == Kind.SUBMIT and j.true.proven)


@claim("what is stopped is not submitted")
def _(j: Judged) -> bool:
    return not (j.move.kind == Kind.SUBMIT and j.true.stopped)


@claim("nothing is submitted beside an open attempt")
def _(j: Judged) -> bool:
    return not (j.move.kind == Kind.SUBMIT and j.true.in_flight)


@claim("the pause before a submission is respected")
def _(j: Judged) -> bool:
    return not (j.move.kind == Kind.SUBMIT and not (j.true.ready and j.true.quiet))


@claim("what may be accepted is submitted only under its key or in an approved generation")
def _(j: Judged) -> bool:
    if j.move.kind != Kind.SUBMIT or not j.true.doubt:
        return True
    return j.true.protected if j.true.needs_key else j.true.approved


@claim("a submission that needs its key carries the end of the key's window")
def _(j: Judged) -> bool:
    if j.move.kind != Kind.SUBMIT or not j.true.needs_key:
        return True
    end = moment(j.scenario.first_used + j.scenario.window - DEADLINE - MARGIN)
    return j.move.before is not None and j.move.before <= end


@claim("nothing is sent after complete absence unless a person or the channel says so")
def _(j: Judged) -> bool:
    return not (j.move.kind == Kind.SUBMIT and j.true.must_ask_after_absence)


@claim("what is free is submitted")
def _(j: Judged) -> bool:
    t = j.true
    free = t.ready and not (t.proven or t.in_flight or t.doubt or t.stopped)
    return not free or t.must_ask_after_absence or j.move.kind == Kind.SUBMIT


# --- What is said


@claim("not sent is said only where nothing may be accepted")
def _(j: Judged) -> bool:
    ends = j.move.kind == Kind.FINISH and j.move.status in NOT_SENT
    return not (ends and (j.true.doubt or j.true.proven or j.true.in_flight))


@claim("delivered is said exactly where acceptance is proven")
def _(j: Judged) -> bool:
    return j.true.proven == (j.move.status == DeliveryStatus.DELIVERED)


@claim("the status tells this identity's own doubt")
def _(j: Judged) -> bool:
    if j.move.kind == Kind.FINISH:
        return True
    if j.true.own_in_flight:
        return j.move.status == DeliveryStatus.SUBMITTING
    doubt = DeliveryStatus.UNKNOWN if j.true.own_doubt else DeliveryStatus.PENDING
    return j.move.status == doubt


@claim("what has ended without doubt is finished, with the first reason that applies")
def _(j: Judged) -> bool:
    t, s = j.true, j.scenario
    if t.proven or t.in_flight or t.doubt:
        return True
    ends = (
        (t.refused, DeliveryStatus.FAILED),
        (s.withdrawn, DeliveryStatus.CANCELLED),
        (s.expired, DeliveryStatus.EXPIRED),
        (t.exhausted, DeliveryStatus.FAILED),
    )
    said = next((status for applies, status in ends if applies), None)
    return (j.move.kind == Kind.FINISH) == (said is not None) and (
        said is None or j.move.status == said
    )


# --- Who is asked


@claim("a person is asked only where no automatic step is left")
def _(j: Judged) -> bool:
    if j.move.kind not in {Kind.ASK, Kind.REST}:
        return True
    t = j.true
    step_left = t.in_flight or t.proven or t.same_key or (t.own_doubt and _may_look(j))
    if not t.doubt:
        step_left = step_left or not (t.left or t.must_ask_after_absence)
    return not step_left


@claim("an approval changes something")
def _(j: Judged) -> bool:
    t = j.true
    heard = t.approved and t.doubt and not (t.ended or t.proven or t.in_flight)
    return not heard or (j.move.kind in {Kind.SUBMIT, Kind.WAIT} and j.move.rule == "approved")


@claim("what a person left is left alone")
def _(j: Judged) -> bool:
    if not j.true.left:
        return True
    asked_again = j.move.kind == Kind.ASK
    return j.move.kind != Kind.SUBMIT and not asked_again


@claim("a search is made only for an own doubt, once settled, and while the schedule lasts")
def _(j: Judged) -> bool:
    if j.move.kind != Kind.LOOK_UP:
        return True
    settled = j.scenario.settled(j.scenario.own) <= j.scenario.now
    return j.true.own_doubt and settled and _may_look(j) and j.scenario.look != "later"


def _may_look(j: Judged) -> bool:
    rounds = j.scenario.seen in LOOKS
    asked = j.scenario.look == "asked"
    return j.true.look_left and (asked or rounds < len(j.facts.policy.look_up_schedule))


# --- When


@claim("a wait ends later than now, and what expires does not wait beyond it")
def _(j: Judged) -> bool:
    if j.move.kind != Kind.WAIT:
        return True
    return j.move.until is not None and j.move.until > j.now


@claim("no move repeats for ever")
def _(j: Judged) -> bool:
    return not stalls(j.facts, j.now, j.move)


# --- How


@claim("the first rule of the table that applies decides")
def _(j: Judged) -> bool:
    return j.move.rule == _by_the_table(j)


def _by_the_table(j: Judged) -> str:
    t, s = j.true, j.scenario
    table = (
        ("proven-accepted", t.proven),
        ("in-flight", t.in_flight),
        ("approved", t.doubt and t.approved and not t.ended),
        ("look-up", t.own_doubt and _may_look(j) and not _key_first(j)),
        ("same-key", t.same_key),
        ("blocked", t.doubt),
        ("refused", t.refused),
        ("withdrawn", s.withdrawn),
        ("expired", s.expired),
        ("exhausted", t.exhausted),
        ("left", t.left),
        ("absent", t.must_ask_after_absence),
        ("earlier-part", s.earlier_part),
        ("held", s.held),
        ("too-early", not t.ready),
    )
    return next((rule for rule, applies in table if applies), "due")


def _key_first(j: Judged) -> bool:
    """A search so late that no room for the same key would be left is not waited for."""
    s = j.scenario
    begun = max(s.settled(s.own), s.now if s.look == "asked" else s.now - QUIET)
    at = s.now + NOT_OVER - QUIET if s.look == "later" else begun
    return j.true.same_key and at + 2 * (DEADLINE + MARGIN) >= s.first_used + s.window


def reproduced(facts: Facts, now: datetime, move: NextMove) -> bool:
    """The stored inputs lead to the same answer: nothing else was looked at."""
    text = inputs.dump(facts, now, move)
    read, then = inputs.load(text)
    again = next_move.next_move(read, then)
    said = inputs.load_answer(text) == inputs.answer(again)
    return said and (read, then, again) == (facts, now, move)
