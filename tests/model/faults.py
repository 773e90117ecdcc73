"""Deliberate breakages of the protocol: where each is found, and what is then broken."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

import pytest

from delivery import next_move as rules
from delivery.facts import Facts
from delivery.next_move import Kind, NextMove
from ledgers.states import DeliveryStatus
from tests.model.search import Explorer, Report
from tests.model.world import Setup

TWICE = "sent twice"
DENIED = "accepted, and called pending"
HEARD = "an acceptance that was heard is lost"

Patch = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True, slots=True)
class Fault:
    """`patch` breaks the rules; without one the fault's name breaks a step of the model."""

    name: str
    broken: str
    setup: Setup
    patch: Patch | None = None

    def world(self) -> Setup:
        return replace(self.setup, faults=frozenset({self.name}))


def _fact(name: str, value: object) -> Patch:
    return lambda m: m.setattr(Facts, name, value)


def _settled_at_once(facts: Facts, generation: int) -> datetime | None:
    own = [a.opened_at for a in facts.attempts if a.generation == generation and a.ambiguous]
    return max(own, default=None)


def _names_submitting(facts: Facts, now: datetime) -> NextMove | None:
    until = facts.in_flight_until
    if until is None:
        return None
    return NextMove(Kind.WAIT, "in-flight", DeliveryStatus.SUBMITTING, "", until=max(until, now))


def _rule(rule: str, other: Callable[..., NextMove | None]) -> Patch:
    changed = tuple(other if r.__name__ == rule else r for r in rules.RULES)
    return lambda m: m.setattr(rules, "RULES", changed)


def _approves_for_ever(m: pytest.MonkeyPatch) -> None:
    m.setattr(Facts, "approved", property(lambda f: f.decision == "send_again"))
    m.setattr(Facts, "needs_key", property(lambda f: f.generation == 1))


NO_KEY = Setup("no key", until=6)
KEY = Setup("key", until=6, window=5)
LOOK = Setup("look-up", until=7, looks=1, automatic=True)
CANCEL = Setup("cancel", until=5, window=5, people=("cancel",))
BOTH = Setup("both", until=5, window=4, people=("new generation", "same key"), decisions=2)

FAULTS: tuple[Fault, ...] = (
    Fault("fence not checked", "a worker without the lease moves the row", NO_KEY),
    Fault("version not checked", "an attempt begins after the withdrawal was committed", CANCEL),
    Fault("lease not checked", "an attempt begins after its lease", NO_KEY),
    Fault("write-ahead after the send", DENIED, NO_KEY),
    Fault("timeout means pending", DENIED, NO_KEY),
    Fault("late result dropped", HEARD, NO_KEY),
    Fault("the open attempt is closed", HEARD, KEY),
    Fault("a settle maps its own outcome", DENIED,
          Setup("key, refusing", until=5, window=4, answers=("not_sent",))),
    Fault("window checked at the decision only", TWICE, KEY),
    Fault("the last check is left out", DENIED, LOOK),
    Fault("siblings not checked", "an attempt begins after the acceptance was committed", BOTH),
    Fault("absent counts before the settle delay", DENIED, LOOK,
          _fact("settled_at", _settled_at_once)),
    Fault("absent always counts", "accepted, and called failed", LOOK,
          _fact("_absent", lambda f, g: any(e.verdict == "absent" for e in f.evidence))),
    Fault("an approval is never used up, nor bound to a key", TWICE,
          Setup("approved", until=3, people=("new generation",)), _approves_for_ever),
    Fault("one person may do without the key", TWICE, Setup("aimless", until=6, window=4,
          people=("same key",)), _fact("needs_key", property(lambda f: False))),
    Fault("another generation's attempt makes this row submitting", DENIED, BOTH,
          _rule("in_flight", _names_submitting)),
    Fault("doubt is no reason", DENIED, NO_KEY,
          _fact("possibly_accepted", property(lambda f: False))),
    Fault("a wait for now", "a wait for a moment that has passed",
          Setup("paused", until=4, people=("pause",)),
          _rule("held", lambda f, now: rules._wait(f, "held", now, "") if f.held else None)),
)  # fmt: skip


def found(fault: Fault) -> Report:
    """What exploring the broken protocol comes to; the rules are whole again afterwards."""
    with pytest.MonkeyPatch.context() as patched:
        if fault.patch:
            fault.patch(patched)
        return Explorer(fault.world()).explore()


def told(fault: Fault, report: Report) -> str:
    """The fault, what it breaks, and the shortest way there."""
    return f"{fault.name}: {report.broken}, by\n    " + " > ".join(report.trace)
