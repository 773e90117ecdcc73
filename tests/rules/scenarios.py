"""Situations of one delivery in symbols, and the facts they stand for.

A scenario says what happened in words of its own (`QO` = an ambiguous attempt, then an abandoned
one), so that `tests.rules.truth` can tell what is true of it without asking the code under test.
All moments are whole seconds after `BASE`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from itertools import product

from delivery.facts import AttemptFact, EvidenceFact, Facts, Policy

BASE = datetime(2026, 12, 1, 9, tzinfo=UTC)
FIRST, STEP, LEASE, CALL = 1000, 200, 60, 5  # first attempt, distance, lease, duration of a call
DEADLINE, MARGIN, PROCESSING = 10, 5, 20
QUIET = 500  # from the last attempt to now: every lease and settle delay is over
OVER, NOT_OVER = 1, 100_000  # a pause that is over by now, and one that is not
OPEN = 1_000_000  # a window that is open for long
FORGOTTEN = FIRST - 50  # the restore point of a rewound row

# One attempt each. Lower case: under another key scope than the channel has now.
OUTCOMES = {
    "A": "accepted", "P": "refused", "R": "refused", "D": "deferred", "N": "not_sent",
    "T": "not_tried", "I": "in_flight", "Q": "ambiguous", "M": "mismatch", "q": "ambiguous",
    "H": "", "O": "", "o": "",
}  # fmt: skip
DOUBTFUL = frozenset("IQMqOo")


@dataclass(frozen=True, slots=True)
class Scenario:
    """One combination of facts.

    Args:
        own: the row's generation.
        tries: one symbol per attempt, in the order of their opening.
        split: how many of them are of generation 1; the others are of generation 2.
        seen: evidence about the row's own generation (see `SIGHTINGS`).
        seen_first: evidence about generation 1 where the row is of generation 2.
        decision: what a person decided last; `early`: before the attempts, else after them.
        rewound: `no`, or a restore after all attempts.
        key: none, or an open, closed or at this very moment closing window.
        look: none, due, later, used, or asked for by a person.
        soon: the settle delay is not over.
    """

    own: int = 1
    tries: str = ""
    split: int = 3
    seen: str = ""
    seen_first: str = ""
    decision: str = ""
    early: bool = False
    rewound: bool = False
    withdrawn: bool = False
    expired: bool = False
    unreadable: bool = False
    budget: int = 9
    held: bool = False
    earlier_part: bool = False
    not_before: bool = False
    pause_over: bool = True
    asked_to_wait: bool = False
    key: str = "none"
    look: str = "none"
    automatic: bool = False
    soon: bool = False

    @property
    def generations(self) -> tuple[int, ...]:
        return tuple(1 if i < self.split else 2 for i in range(len(self.tries)))

    @property
    def now(self) -> int:
        last = FIRST + STEP * max(0, len(self.tries) - 1)
        if self.soon:
            return last + (LEASE + DEADLINE + CALL if self.tries.endswith("O") else 3 * CALL)
        return last + QUIET

    @property
    def first_used(self) -> int:
        """When this identity's key may first have been used."""
        opened = [self.opened(i) for i, g in enumerate(self.generations) if g == self.own]
        return min([*opened, FORGOTTEN] if self.rewound else opened, default=FIRST)

    @property
    def window(self) -> int:
        left = {"none": -self.now, "open": OPEN, "closed": -1, "closing": DEADLINE + MARGIN}
        return self.now + left[self.key] - (self.first_used if self.key != "none" else 0)

    def opened(self, index: int) -> int:
        return FIRST + STEP * index

    @property
    def decided(self) -> int:
        return FIRST - 100 if self.early else self.now - 10

    @property
    def rewound_at(self) -> int:
        return self.now - 100

    def settled(self, generation: int) -> int:
        """When a search of this generation begins to mean something."""
        ends = [
            self.opened(i) + LEASE + DEADLINE
            for i, (symbol, g) in enumerate(zip(self.tries, self.generations, strict=True))
            if g == generation and symbol in DOUBTFUL
        ]
        if self.rewound and generation == self.own:
            ends.append(self.rewound_at)
        return max(ends, default=FIRST) + PROCESSING


@cache
def moment(seconds: float) -> datetime:
    return BASE + timedelta(seconds=seconds)


# How each kind of sighting differs from a complete search at the right time that found nothing.
SIGHTINGS = {
    "absent": ("surface_scan", "absent", 0, -1),
    "absent-by-key": ("key_lookup", "absent", 0, None),
    "absent-early": ("surface_scan", "absent", -1, -1),
    "absent-partly": ("surface_scan", "absent", 0, 1),
    "absent-said": ("operator", "absent", 0, -1),
    "unclear": ("surface_scan", "inconclusive", 0, -1),
    "found": ("id_lookup", "found", 0, None),
    "found-many": ("surface_scan", "found_many", 0, -1),
    "said-found": ("operator", "found", 0, None),
}


def build(scenario: Scenario) -> tuple[Facts, datetime]:
    """The facts of a scenario and the moment of the decision."""
    s = scenario
    attempts, evidence, first_used = _past(
        Scenario(
            own=s.own, tries=s.tries, split=s.split, seen=s.seen, seen_first=s.seen_first,
            rewound=s.rewound, asked_to_wait=s.asked_to_wait, soon=s.soon,
        )
    )  # fmt: skip
    facts = Facts(
        delivery_id="scenario",
        generation=s.own,
        attempts=attempts,
        evidence=evidence,
        policy=_policy(s.window, s.look, s.budget, s.pause_over, s.automatic),
        key_first_used_at=first_used,
        not_before=moment(s.now + 50) if s.not_before else None,
        not_after=moment(s.now - 1) if s.expired else None,
        withdrawn=s.withdrawn,
        rewound_at=moment(s.rewound_at) if s.rewound else None,
        rewound_from=moment(FORGOTTEN) if s.rewound else None,
        decision=s.decision,
        decided_at=moment(s.decided) if s.decision else None,
        look_again_at=moment(s.now) if s.look == "asked" else None,
        earlier_part_open=s.earlier_part,
        unreadable="the content was erased" if s.unreadable else "",
        held=("channel paused: test",) if s.held else (),
    )
    return facts, moment(s.now)


@lru_cache(maxsize=64)
def _past(
    s: Scenario,
) -> tuple[tuple[AttemptFact, ...], tuple[EvidenceFact, ...], datetime | None]:
    sightings = [_sighting(s, s.own, s.seen)] if s.seen else []
    if s.seen_first:
        sightings.append(_sighting(s, 1, s.seen_first))
    own_tries = [i for i, g in enumerate(s.generations) if g == s.own]
    first_used = moment(s.opened(own_tries[0])) if own_tries else None
    return tuple(_attempt(s, i) for i in range(len(s.tries))), tuple(sightings), first_used


def _attempt(s: Scenario, index: int) -> AttemptFact:
    symbol, opened = s.tries[index], s.opened(index)
    held, last = symbol == "H", index == len(s.tries) - 1
    return AttemptFact(
        generation=s.generations[index],
        number=index + 1,
        outcome=OUTCOMES[symbol],
        opened_at=moment(opened),
        closed_at=moment(opened + CALL) if OUTCOMES[symbol] else None,
        lease_until=moment(s.now + 30 if held else opened + LEASE),
        deadline_s=DEADLINE,
        held=held,
        key_scope="another" if symbol.islower() else "endpoint",
        retry_after_s=NOT_OVER if last and s.asked_to_wait else None,
        permanent=symbol == "P",
    )


def _sighting(s: Scenario, generation: int, kind: str) -> EvidenceFact:
    method, verdict, late_by, from_first = SIGHTINGS[kind]
    first = FORGOTTEN if s.rewound else FIRST
    return EvidenceFact(
        generation=generation,
        method=method,
        verdict=verdict,
        taken_at=moment(s.settled(generation) + late_by),
        covered_from=None if from_first is None else moment(first + from_first),
    )


@cache
def _policy(window: int, look: str, budget: int, pause_over: bool, automatic: bool) -> Policy:
    schedules = {"none": (), "used": (), "asked": (), "due": (OVER,) * 3, "later": (NOT_OVER,) * 3}
    return Policy(
        retry_schedule=(OVER if pause_over else NOT_OVER,),
        look_up_schedule=schedules[look],
        max_attempts=budget,
        deadline_s=DEADLINE,
        margin_s=MARGIN,
        processing_s=PROCESSING,
        key_honoured=window > 0,
        key_scope="endpoint" if window > 0 else "",
        window_s=window,
        can_look_up=look != "none",
        resend_after_absent=automatic,
    )


# --- The two products

DECISIONS = tuple(
    (decision, early)
    for decision in ("", "leave", "try_again", "send_again")
    for early in ((False, True) if decision else (False,))
)
FEWER_SIGHTINGS = ("absent", "absent-early", "absent-partly", "unclear", "found")
FEWEST_SIGHTINGS = ("absent", "absent-early", "unclear")
FLAGS = (False, True)
# Histories that differ in what may have been accepted, by which generation, and what cleared it.
KINDS = (
    Scenario(), Scenario(tries="A"), Scenario(tries="QA"), Scenario(tries="P"),
    Scenario(tries="R"), Scenario(tries="N"), Scenario(tries="D"), Scenario(tries="Q"),
    Scenario(tries="O"), Scenario(tries="q"), Scenario(tries="M"), Scenario(tries="I"),
    Scenario(tries="H"), Scenario(tries="QH"), Scenario(tries="QP"), Scenario(tries="QN"),
    Scenario(tries="QQ"), Scenario(tries="Q", seen="absent"), Scenario(tries="QN", seen="absent"),
    Scenario(tries="Q", seen="absent-early"), Scenario(tries="O", seen="absent-partly"),
    Scenario(tries="Q", seen="found"), Scenario(rewound=True),
    Scenario(rewound=True, seen="absent"), Scenario(tries="N", rewound=True),
    Scenario(tries="QH", split=1), Scenario(tries="QQ", split=1),
    Scenario(own=2, tries="Q"), Scenario(own=2, tries="H"),
    Scenario(own=2, tries="Q", seen_first="absent"), Scenario(own=2, tries="QQ", split=1),
    Scenario(own=2, tries="QQ", split=1, seen="absent"),
    Scenario(own=2, tries="QN", split=1), Scenario(own=2, tries="QH", split=1),
    Scenario(own=2, tries="QA", split=1),
    Scenario(tries="Q", soon=True), Scenario(tries="O", soon=True),
    Scenario(tries="N", rewound=True, seen="absent-partly"),
)  # fmt: skip


WAITS = tuple(
    (held, earlier_part, not_before, pause_over)
    for held in FLAGS
    for earlier_part in FLAGS
    for not_before, pause_over in ((False, True), (True, True), (False, False))
)


def circumstances(slice_: int = 0, slices: int = 1) -> Iterator[Scenario]:
    """Every combination of stops, waits, decisions and promises with each kind of history."""
    for kind in KINDS[slice_::slices]:
        for decided in _decided(kind):
            for promised in _promised(decided):
                for stopped in _stopped(promised):
                    yield from _waiting(stopped)


def _decided(s: Scenario) -> Iterator[Scenario]:
    for decision, early in DECISIONS:
        if not (early and not s.tries):
            yield replace(s, decision=decision, early=early)


def _promised(s: Scenario) -> Iterator[Scenario]:
    for key in ("none", "open", "closing"):
        for look in ("none", "due", "later", "asked"):
            for automatic in FLAGS if "absent" in {s.seen, s.seen_first} else (False,):
                yield replace(s, key=key, look=look, automatic=automatic)


def _stopped(s: Scenario) -> Iterator[Scenario]:
    """Up to two reasons to stop for good: of three, the first two that apply hide the third."""
    for stops in product(FLAGS, repeat=4 if s.tries else 3):
        if sum(stops) <= 2:
            withdrawn, expired, unreadable, *used_up = stops
            yield replace(
                s, withdrawn=withdrawn, expired=expired, unreadable=unreadable,
                budget=1 if any(used_up) else 9,
            )  # fmt: skip


def _waiting(s: Scenario) -> Iterator[Scenario]:
    for held, earlier_part, not_before, pause_over in WAITS:
        if pause_over or s.tries:
            yield replace(
                s, held=held, earlier_part=earlier_part, not_before=not_before,
                pause_over=pause_over,
            )  # fmt: skip


def histories(slice_: int = 0, slices: int = 1) -> Iterator[Scenario]:
    """Every history of up to three attempts over both generations, with evidence and decisions."""
    for tries in list(_tries())[slice_::slices]:
        for own in (1, 2):
            for split in range(len(tries) + 1):
                yield from _told(Scenario(own=own, tries=tries, split=split))


def _tries() -> Iterator[str]:
    """All of up to two attempts; of three, those whose first two leave something open."""
    for length in range(3):
        yield from map("".join, product(OUTCOMES, repeat=length))
    yield from map("".join, product("PNQO", "DNQMO", "APDNQMHO"))


def _told(s: Scenario) -> Iterator[Scenario]:
    sightings = ("", *(SIGHTINGS, SIGHTINGS, FEWER_SIGHTINGS, FEWEST_SIGHTINGS)[len(s.tries)])
    promises = (("none", "due"), ("open", "used"), ("closed", "none"))
    for seen, (decision, early), (key, look) in product(sightings, DECISIONS, promises):
        yield replace(
            s, seen=seen, decision=decision, early=early, key=key, look=look,
            asked_to_wait=s.tries.endswith("D"), budget=2,
        )  # fmt: skip
