"""What is true of a scenario, worked out from its symbols and without the code under test."""

from dataclasses import dataclass

from tests.rules.scenarios import CALL, DEADLINE, DOUBTFUL, LEASE, MARGIN, PROCESSING, Scenario

PROVING = {"found", "found-many", "said-found"}
CLEARING = {"absent", "absent-by-key"}
LOOKS = {"absent", "absent-by-key", "absent-early", "absent-partly", "unclear"}


@dataclass(slots=True)
class Truth:
    """The answers that every property may rely on. `own`: indices of this generation's attempts."""

    s: Scenario
    own: list[int]
    proven: bool
    in_flight: bool
    own_in_flight: bool
    own_doubt: bool
    other_doubt: bool
    cleared: bool
    protected: bool
    going_on: bool
    refused: bool
    exhausted: bool
    ready: bool
    quiet: bool
    look_left: bool

    @property
    def doubt(self) -> bool:
        return self.own_doubt or self.other_doubt

    @property
    def ended(self) -> bool:
        s = self.s
        return s.withdrawn or s.expired or self.refused or self.exhausted or self.left

    @property
    def left(self) -> bool:
        return self.s.decision == "leave"

    @property
    def stopped(self) -> bool:
        return self.ended or self.s.held or self.s.earlier_part

    @property
    def needs_key(self) -> bool:
        return self.own_doubt or (self.other_doubt and self.s.own == 1)

    @property
    def approved(self) -> bool:
        """A person's "send again" is in force and its gate is passed."""
        permitted = self.protected or not self.needs_key
        return self.s.decision == "send_again" and self.going_on and permitted

    @property
    def same_key(self) -> bool:
        return self.own_doubt and self.protected and not self.ended

    @property
    def must_ask_after_absence(self) -> bool:
        return self.cleared and not self.s.automatic and not self.going_on


def truth(s: Scenario) -> Truth:
    pairs = list(zip(s.tries, s.generations, strict=True))
    own = [i for i, (_, g) in enumerate(pairs) if g == s.own]
    doubtful = {g: any(t in DOUBTFUL and g == h for t, h in pairs) for g in (1, 2)}
    forgotten = {1: s.rewound and s.own == 1, 2: s.rewound and s.own == 2}
    clear = {s.own: s.seen in CLEARING} | ({1: s.seen_first in CLEARING} if s.own != 1 else {})
    in_doubt = {g: (doubtful[g] or forgotten[g]) and not (clear.get(g, False)) for g in (1, 2)}
    considered = [i for i in own if not (s.decision in {"try_again", "send_again"} and not s.early)]
    own_symbols = [s.tries[i] for i in own]
    return Truth(
        s=s,
        own=own,
        proven="A" in s.tries or bool({s.seen, s.seen_first} & PROVING),
        in_flight="H" in s.tries,
        own_in_flight="H" in own_symbols,
        own_doubt=in_doubt[s.own],
        other_doubt=in_doubt[3 - s.own],
        cleared=not any(in_doubt.values()) and (any(doubtful.values()) or s.rewound),
        protected=_protected(s, own_symbols),
        going_on=s.decision in {"try_again", "send_again"}
        and not (s.early and any(t in DOUBTFUL for t in own_symbols)),
        refused=s.unreadable or any(s.tries[i] == "P" for i in considered),
        exhausted=sum(s.tries[i] not in "DT" for i in considered) >= s.budget,
        ready=_ready(s, own, considered),
        quiet=_quiet(s, own),
        look_left=s.look in {"due", "later", "asked"},
    )


def _protected(s: Scenario, own_symbols: list[str]) -> bool:
    if s.key == "none" or any(t in "Mqo" for t in own_symbols):
        return False
    used = bool(own_symbols) or s.rewound
    return used and s.now + DEADLINE + MARGIN < s.first_used + s.window


def _ready(s: Scenario, own: list[int], considered: list[int]) -> bool:
    if s.not_before:
        return False
    if not own:
        return True
    asked = s.asked_to_wait and own[-1] == len(s.tries) - 1
    return (s.pause_over or not considered) and not asked


def _quiet(s: Scenario, own: list[int]) -> bool:
    """Whether the settle delay of every earlier submission is over."""
    longest = {i: LEASE + DEADLINE if s.tries[i] in "Oo" else CALL for i in own}
    ends = [s.opened(i) + longest[i] for i in own if s.tries[i] in DOUBTFUL]
    return max([*ends, s.rewound_at if s.rewound else 0]) + PROCESSING <= s.now
