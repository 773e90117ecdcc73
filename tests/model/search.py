"""Breadth-first through every state of one setup, checking the invariants in each.

States are tuples of small numbers: each part is kept once and known by its number, and what one
actor can do is worked out once for all the states that look the same to it. The two workers are
alike, so a state and its mirror image are one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ledgers.states import NOT_SENT, OPEN, DeliveryStatus
from tests.model.ledger import Database
from tests.model.people import acts
from tests.model.provider import arrivals, later
from tests.model.steps import Actor, Step
from tests.model.world import IDLE, NEVER, Ledger, People, Provider, Setup, Worker

Part = TypeVar("Part")
# Tick, ledger, provider, two workers, people.
State = tuple[int, int, int, int, int, int]
# What one actor's step does to the parts: label, ledger, provider, actor, claimed, raised, broken.
Known = tuple[str, int, int, int, int, int, str]

RESIDUAL = "residual: "


class Parts(Generic[Part]):
    """Parts of states, each known by a number."""

    def __init__(self) -> None:
        self.all: list[Part] = []
        self._numbers: dict[Part, int] = {}

    def number(self, part: Part) -> int:
        known = self._numbers.get(part)
        if known is None:
            known = self._numbers[part] = len(self.all)
            self.all.append(part)
        return known


@dataclass
class Report:
    """What one exploration came to.

    Args:
        states: distinct states. `depth`: steps from the start within which all of them are known.
        whole: there are no others up to the setup's last tick.
        residual: states that are wrong in the one way that no sender can exclude, by kind.
        trace: the shortest way to what is broken.
    """

    setup: str
    states: int = 0
    steps: int = 0
    depth: int = 0
    whole: bool = False
    residual: dict[str, int] = field(default_factory=dict)
    broken: str = ""
    trace: list[str] = field(default_factory=list)


class Explorer:
    """All states of one setup."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.database = Database(setup)
        self.actor = Actor(setup, self.database)
        self.ledgers: Parts[Ledger] = Parts()
        self.providers: Parts[Provider] = Parts()
        self.workers: Parts[Worker] = Parts()
        self.people: Parts[People] = Parts()
        self._steps: dict[tuple[int, int, int, int], list[Known]] = {}
        self._people: dict[tuple[int, int, int, int], list[tuple[str, int, int, int]]] = {}
        self._arrivals: dict[tuple[int, int], list[tuple[str, int, int, int, str]]] = {}
        self._dulled: dict[tuple[int, int, int], int] = {}
        self._later: dict[tuple[int, int], int] = {}
        self._judged: dict[tuple[int, int], str] = {}

    def start(self) -> State:
        people = People(self.setup.decisions if self.setup.people else 0, self.setup.reconciler)
        idle = self.workers.number(IDLE)
        return (0, self.ledgers.number(Ledger()), self.providers.number(Provider()), idle, idle,
                self.people.number(people))  # fmt: skip

    def explore(self) -> Report:
        """Every state up to the setup's last tick, or up to the first that is broken."""
        report, start = Report(self.setup.name), self.start()
        seen, level = {start}, [start]
        while level and len(seen) < self.setup.most:
            following: list[State] = []
            for state in level:
                for label, found, broken in self.successors(state):
                    report.steps += 1
                    if broken:
                        return self._failed(report, seen, state, label, broken)
                    if found not in seen:
                        seen.add(found)
                        wrong = self.judged(found[1], found[2])
                        if wrong.startswith(RESIDUAL):
                            report.residual[wrong] = report.residual.get(wrong, 0) + 1
                        elif wrong:
                            return self._failed(report, seen, state, label, wrong)
                        else:
                            following.append(found)
            level = following
            report.depth += 1
        report.states, report.whole = len(seen), not level
        return report

    def _failed(
        self, report: Report, seen: set[State], state: State, label: str, broken: str
    ) -> Report:
        report.states, report.broken = len(seen), broken
        report.trace = [*self.way_to(state), label]
        return report

    def way_to(self, goal: State) -> list[str]:
        """The labels of a shortest way, found by walking again with a memory of where from."""
        came: dict[State, tuple[State, str]] = {}
        level = [self.start()]
        while goal not in came and goal not in level:
            following = []
            for state in level:
                for label, found, _ in self.successors(state):
                    if found not in came:
                        came[found] = (state, label)
                        following.append(found)
            level = following
        labels = []
        while goal != self.start():
            goal, label = came[goal]
            labels.append(label)
        return labels[::-1]

    # Successors

    def successors(self, state: State) -> Iterator[tuple[str, State, str]]:
        t, ledger, provider, a, b, people = state
        if t < self.setup.until:
            after = self._at_later_tick(provider, t + 1)
            yield "tick", (t + 1, ledger, after, a, b, people), ""
        for mover, other in ((a, b), (b, a)) if a != b else ((a, b),):
            for label, l2, p2, moved, claimed, raised, broken in self._of_worker(
                t, ledger, provider, mover
            ):
                rest = self._dull(other, claimed, raised) if claimed or raised else other
                pair = (moved, rest) if moved <= rest else (rest, moved)
                yield label, (t, l2, p2, *pair, people), broken
        for label, p2, g, number, word in self._at_provider(t, provider):
            heard = self._answered(a, b, g, number, word)
            if heard is not None:
                yield label, (t, ledger, p2, *heard, people), ""
        for label, l2, people2, raised in self._by_people(t, ledger, provider, people):
            x, y = self._dull(a, 0, raised), self._dull(b, 0, raised)
            pair = (x, y) if x <= y else (y, x)
            yield label, (t, l2, provider, *pair, people2), ""

    def _of_worker(self, t: int, ledger: int, provider: int, worker: int) -> list[Known]:
        key = (t, ledger, provider, worker)
        known = self._steps.get(key)
        if known is None:
            steps = self.actor.steps(
                self.ledgers.all[ledger], self.providers.all[provider], self.workers.all[worker], t
            )
            known = self._steps[key] = [self._numbered(step) for step in steps]
        return known

    def _numbered(self, step: Step) -> Known:
        return (
            step.label,
            self.ledgers.number(step.ledger),
            self.providers.number(step.provider),
            self.workers.number(step.actor),
            step.claimed,
            step.raised,
            step.broken,
        )

    def _dull(self, worker: int, claimed: int, raised: int) -> int:
        """The worker after somebody else claimed its row or raised its version."""
        key = (worker, claimed, raised)
        known = self._dulled.get(key)
        if known is None:
            w = self.workers.all[worker]
            if w.phase != "idle" and claimed >> w.g & 1:
                w = w._replace(fence=False)
            if w.phase == "decided" and raised >> w.g & 1:
                w = w._replace(version=False)
            known = self._dulled[key] = self.workers.number(w)
        return known

    def _at_later_tick(self, provider: int, t: int) -> int:
        known = self._later.get((provider, t))
        if known is None:
            known = self.providers.number(later(self.providers.all[provider], t))
            self._later[provider, t] = known
        return known

    def _at_provider(self, t: int, provider: int) -> Iterable[tuple[str, int, int, int, str]]:
        known = self._arrivals.get((t, provider))
        if known is None:
            found = arrivals(self.setup, self.providers.all[provider], t)
            known = self._arrivals[t, provider] = [
                (label, self.providers.number(after), sent.g, sent.number, word)
                for label, after, sent, word in found
            ]
        return known

    def _answered(self, a: int, b: int, g: int, number: int, word: str) -> tuple[int, int] | None:
        """Both workers once the answer is there; None where a refusal would be heard by nobody."""
        for mine, other in ((a, b), (b, a)):
            w = self.workers.all[mine]
            if w.phase == "on the wire" and (w.g, w.number) == (g, number):
                heard = self.workers.number(w._replace(phase="answered", word=word))
                return (heard, other) if heard <= other else (other, heard)
        return (a, b) if word == "accepted" else None

    def _by_people(
        self, t: int, ledger: int, provider: int, people: int
    ) -> list[tuple[str, int, int, int]]:
        key = (t, ledger, provider, people)
        known = self._people.get(key)
        if known is None:
            known = self._people[key] = list(self._decisions(t, ledger, provider, people))
        return known

    def _decisions(
        self, t: int, ledger: int, provider: int, people: int
    ) -> Iterator[tuple[str, int, int, int]]:
        here, there, who = (
            self.ledgers.all[ledger],
            self.providers.all[provider],
            self.people.all[people],
        )
        if who.decisions:
            left = self.people.number(who._replace(decisions=who.decisions - 1))
            for label, after, raised in acts(self.setup, self.database, here, there, t):
                yield label, self.ledgers.number(after), left, raised
        if who.search is not IDLE and who.search.phase != "idle":
            for step in self.actor.steps(here, there, who.search, t):
                following = self.people.number(who._replace(search=step.actor))
                yield (
                    f"reconciler: {step.label}",
                    self.ledgers.number(step.ledger),
                    following,
                    step.raised,
                )
        elif who.looks:
            for g, row in enumerate(here.rows):
                if row.status == DeliveryStatus.UNKNOWN:
                    search = Worker("searching", g, fence=False, mark=t)
                    begun = who._replace(looks=who.looks - 1, search=search)
                    yield "reconciler: look", ledger, self.people.number(begun), 0

    # Invariants

    def judged(self, ledger: int, provider: int) -> str:
        key = (ledger, provider)
        known = self._judged.get(key)
        if known is None:
            wrong = judge(self.setup, self.ledgers.all[ledger], self.providers.all[provider])
            known = self._judged[key] = wrong
        return known


def judge(setup: Setup, ledger: Ledger, provider: Provider) -> str:
    """What is wrong with a state, or nothing. A residual is wrong in the one way we must admit."""
    for row, effect in zip(ledger.rows, provider.effects, strict=False):
        denied = effect.received and row.status in {DeliveryStatus.PENDING, *NOT_SENT}
        twice = effect.received > 1
        if denied or twice:
            what = "sent twice" if twice else f"accepted, and called {row.status}"
            return f"{_residual(setup)}{what}" if effect.outlived else what
        if row.status in OPEN and row.due == NEVER and not row.asked:
            return "an open row that nobody owes"
        if row.status not in OPEN and row.due != NEVER:
            return "queued although it has ended"
    delivered = any(row.status == DeliveryStatus.DELIVERED for row in ledger.rows)
    if delivered and not any(effect.received for effect in provider.effects):
        return "delivered, and nothing was accepted"
    return ""


def _residual(setup: Setup) -> str:
    how = "past the key's window" if setup.window else "no key"
    return f"{RESIDUAL}frozen between last check and write, {how}: "
