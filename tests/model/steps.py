"""What can happen next: to a worker, at the provider, by a person. One function per step.

A step is atomic where the product has one statement, one commit, or nothing that others could see
in between. Anything may happen between two steps: a tick, a crash, another actor. So a pause at
any point, a lost lease and a late result need no steps of their own.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ledgers.states import DeliveryStatus
from tests.model.ledger import MOVES, Database, apply, released, woken
from tests.model.world import (
    DEADLINE,
    IDLE,
    LEASE,
    NEVER,
    SETTLE,
    Ledger,
    OnWire,
    Provider,
    Row,
    Setup,
    Try,
    Worker,
)


class Step(NamedTuple):
    """One step and where it leads.

    Args:
        claimed, raised: the generations whose fence was taken anew, or whose version was raised
            (bit 1 and bit 2): whoever remembers the old one is refused from now on.
        broken: what this very step must never do, if it did.
    """

    label: str
    ledger: Ledger
    provider: Provider
    actor: Worker
    claimed: int = 0
    raised: int = 0
    broken: str = ""


class Actor:
    """A worker's and the reconciler's steps in one setup."""

    def __init__(self, setup: Setup, database: Database) -> None:
        self.setup, self.database = setup, database
        self._phases = {
            "idle": self._claims,
            "claimed": self._decide,
            "decided": self._carry_out,
            "written": self._check,
            "checked": self._write,
            "on the wire": self._hear_nothing,
            "answered": self._settle,
            "searching": self._search,
            "searched": self._settle_search,
        }

    def steps(self, ledger: Ledger, provider: Provider, w: Worker, t: int) -> Iterator[Step]:
        yield from self._phases[w.phase](ledger, provider, w, t)
        if w.phase not in {"idle", "claimed"}:
            yield Step("crash", ledger, provider, IDLE)

    def _hear_nothing(
        self, ledger: Ledger, provider: Provider, w: Worker, t: int
    ) -> Iterable[Step]:
        del t
        lost = w._replace(phase="answered", word="ambiguous")
        return [Step("the answer is lost", ledger, provider, lost)]

    # Claim, decide, carry out

    def _claims(self, ledger: Ledger, provider: Provider, w: Worker, t: int) -> Iterator[Step]:
        del w
        for g, row in enumerate(ledger.rows):
            if row.due != NEVER and row.due <= t:
                tries = tuple(a._replace(current=False) for a in row.tries)
                leased = row._replace(due=t + LEASE, leased=True, tries=tries)
                worker = Worker("claimed", g, mark=t)
                yield Step("claim", ledger.put(g, leased), provider, worker, claimed=1 << g)

    def _decide(self, ledger: Ledger, provider: Provider, w: Worker, t: int) -> Iterable[Step]:
        if not w.fence and "fence not checked" not in self.setup.faults:
            return [Step("find the lease lost", ledger, provider, IDLE)]
        order = self.database.order(ledger, w.g, t)
        if order.action == "search":
            search = Worker("searching", w.g, w.fence, mark=t)
            return [Step("decide: look-up", ledger, provider, search)]
        begins = order.action == "begin"
        decided = w._replace(
            phase="decided",
            mark=w.mark if begins else NEVER,
            action=order.action,
            due=NEVER if begins else order.due,
            before=order.before if begins else NEVER,
        )
        late = order.action == "postpone" and order.due <= t
        return [
            Step(
                f"decide: {order.action or 'nothing'}",
                ledger,
                provider,
                decided,
                broken="a wait for a moment that has passed" if late else "",
            )
        ]

    def _carry_out(self, ledger: Ledger, provider: Provider, w: Worker, t: int) -> Iterable[Step]:
        row, faults = ledger.rows[w.g], self.setup.faults
        passes = (w.fence or "fence not checked" in faults) and (
            w.version or "version not checked" in faults
        )
        if w.action == "begin":
            return [self._begin(ledger, provider, w, t, passes=passes)]
        moved = apply(row, w.action, w.due, t) if passes and w.action else None
        if moved is None:
            kept = released(row, t) if w.fence else row
            return [Step("miss", ledger.put(w.g, kept), provider, IDLE)]
        raised = 0 if w.action == "postpone" else 1 << w.g
        return [
            Step(
                w.action,
                ledger.put(w.g, moved),
                provider,
                IDLE,
                raised=raised,
                broken=_wrong_move(w, moved),
            )
        ]

    def _begin(
        self, ledger: Ledger, provider: Provider, w: Worker, t: int, *, passes: bool
    ) -> Step:
        row = ledger.rows[w.g]
        leased = row.leased_at(t) or "lease not checked" in self.setup.faults
        free = leased and not self._sibling_stands_against(ledger, w.g)
        if not (passes and free and row.status in MOVES["begin"].sources):
            kept = released(row, t) if w.fence else row
            return Step("write-ahead misses", ledger.put(w.g, kept), provider, IDLE)
        begun = row._replace(
            status=DeliveryStatus.SUBMITTING,
            tries=(*row.tries, Try(t, row.due)),
            key_first=t if row.key_first == NEVER else row.key_first,
            asked=False,
        )
        written = Worker(
            "written", w.g, w.fence, mark=w.mark, number=len(row.tries), before=w.before
        )
        step = Step("write ahead", ledger.put(w.g, begun), provider, written, raised=1 << w.g,
                    broken=self._wrong_begin(ledger, w.g, t))  # fmt: skip
        if "write-ahead after the send" in self.setup.faults:
            return step._replace(ledger=ledger, raised=0)
        return step

    def _sibling_stands_against(self, ledger: Ledger, g: int) -> bool:
        """An earlier generation has arrived after all: the decision did not know that."""
        arrived = any(row.status == DeliveryStatus.DELIVERED for row in ledger.rows[:g])
        return arrived and "siblings not checked" not in self.setup.faults

    def _wrong_begin(self, ledger: Ledger, g: int, t: int) -> str:
        facts = self.database.facts(ledger, g, t)
        if not ledger.rows[g].leased_at(t):
            return "an attempt begins after its lease"
        if facts.withdrawn:
            return "an attempt begins after the withdrawal was committed"
        if facts.proven_accepted:
            return "an attempt begins after the acceptance was committed"
        return "an attempt begins beside an open one" if facts.in_flight_until else ""

    # The call

    def _check(self, ledger: Ledger, provider: Provider, w: Worker, t: int) -> Iterable[Step]:
        limit = w.mark + LEASE - DEADLINE
        past = w.before != NEVER and t >= w.before
        if past and "window checked at the decision only" in self.setup.faults:
            past = False
        careless = "the last check is left out" in self.setup.faults
        if (t >= limit or past) and not careless:
            held_back = w._replace(phase="answered", word="not_tried", mark=NEVER, before=NEVER)
            return [Step("last check: too late", ledger, provider, held_back)]
        return [Step("last check", ledger, provider, w._replace(phase="checked", checked=t))]

    def _write(self, ledger: Ledger, provider: Provider, w: Worker, t: int) -> Iterator[Step]:
        outlived = t > w.checked and (t >= w.mark + LEASE or (w.before != NEVER and t >= w.before))
        sent = OnWire(w.g, w.number, t + DEADLINE, outlived)
        wire = tuple(sorted((*provider.wire, sent)))
        waiting = w._replace(phase="on the wire", mark=NEVER, before=NEVER, checked=NEVER)
        label = "write, long after its last check" if outlived else "write"
        yield Step(label, ledger, provider._replace(wire=wire), waiting)
        if "not_sent" in self.setup.answers:
            failed = waiting._replace(phase="answered", word="not_sent")
            yield Step("no connection", ledger, provider, failed)

    def _settle(self, ledger: Ledger, provider: Provider, w: Worker, t: int) -> Iterable[Step]:
        ledger = self._write_ahead_late(ledger, w, t)
        row, g, faults = ledger.rows[w.g], w.g, self.setup.faults
        on_time = w.fence and row.leased_at(t)
        if "late result dropped" in faults and not on_time:
            return [Step("drop the late answer", ledger, provider, IDLE, broken=_lost(w, row))]
        number = len(row.tries) - 1 if "the open attempt is closed" in faults else w.number
        ledger = ledger.put(g, _closed(row, number, w.word, t))
        ledger, raised = self._follow(ledger, g, t, leased=on_time, outcome=w.word)
        raised |= 0 if w.fence else 1 << g
        return [
            Step(
                f"settle: {w.word}",
                ledger,
                provider,
                IDLE,
                raised=raised,
                broken=_lost(w, ledger.rows[g]),
            )
        ]

    def _write_ahead_late(self, ledger: Ledger, w: Worker, t: int) -> Ledger:
        if "write-ahead after the send" not in self.setup.faults:
            return ledger
        row = ledger.rows[w.g]
        return ledger.put(w.g, row._replace(tries=(*row.tries, Try(t, t)), key_first=t))

    def _follow(
        self, ledger: Ledger, g: int, t: int, *, leased: bool, outcome: str = ""
    ) -> tuple[Ledger, int]:
        """Put the row where its whole history puts it, as far as the caller may."""
        row, order = ledger.rows[g], self.database.order(ledger, g, t)
        action, due = order.action, order.due
        if "a settle maps its own outcome" in self.setup.faults and outcome == "not_sent":
            action, due = "clear", t + 1
        allowed = action and (leased or order.moves_status)
        if not leased and outcome and order.status != DeliveryStatus.DELIVERED:
            return ledger.put(g, woken(row, t)), 0
        moved = apply(row, action, due, t, leased=leased) if allowed else None
        if moved is None:
            return ledger, 0
        return ledger.put(g, moved), 1 << g

    # The search

    def _search(self, ledger: Ledger, provider: Provider, w: Worker, t: int) -> Iterator[Step]:
        effect = provider.effects[w.g]
        visible = effect.received and effect.first + SETTLE <= t
        verdicts = ["found" if visible else "absent"]
        if self.setup.unclear:
            verdicts.append("inconclusive")
        for verdict in verdicts:
            seen = w._replace(phase="searched", word=verdict)
            yield Step(f"search: {verdict}", ledger, provider, seen)

    def _settle_search(
        self, ledger: Ledger, provider: Provider, w: Worker, t: int
    ) -> Iterable[Step]:
        row = ledger.rows[w.g]
        seen = tuple(sorted({*row.seen, (w.word, w.mark)}))
        on_time = w.fence and row.leased_at(t)
        ledger = ledger.put(w.g, row._replace(seen=seen))
        ledger, _ = self._follow(ledger, w.g, t, leased=on_time)
        return [Step(f"keep: {w.word}", ledger, provider, IDLE, raised=1 << w.g)]


def _wrong_move(w: Worker, after: Row) -> str:
    """A lost lease moves nothing; only what the outside world accepted counts all the same."""
    wrong = not w.fence and after.status != DeliveryStatus.DELIVERED
    return "a worker without the lease moves the row" if wrong else ""


def _closed(row: Row, number: int, outcome: str, t: int) -> Row:
    """The row with this attempt closed, if it was open: a closed one is never written again."""
    if row.tries[number].closed != NEVER:
        return row
    closed = row.tries[number]._replace(closed=t, outcome=outcome)
    return row._replace(tries=(*row.tries[:number], closed, *row.tries[number + 1 :]))


def _lost(w: Worker, row: Row) -> str:
    heard = w.word == "accepted" and row.status != DeliveryStatus.DELIVERED
    return "an acceptance that was heard is lost" if heard else ""
