"""What the database does in the model: the real rules decide, the real table of moves allows."""

from types import SimpleNamespace
from typing import Any, NamedTuple

from delivery.decide import Decided, _carrier
from delivery.facts import AttemptFact, EvidenceFact, Facts
from delivery.next_move import Kind, NextMove, next_move
from ledgers import states
from ledgers.states import OPEN, DeliveryStatus
from tests.model.world import (
    DEADLINE,
    NEVER,
    TICK,
    Ledger,
    Row,
    Setup,
    Try,
    due_tick,
    last_tick,
    moment,
)

MOVES = {move.name: move for move in states.MOVES}
STARTS = {Kind.SUBMIT: "begin", Kind.LOOK_UP: "search"}
RESTING = (DeliveryStatus.PENDING, DeliveryStatus.UNKNOWN)


class Order(NamedTuple):
    """A decision as a worker carries it: which function, when due again, how long it may begin."""

    action: str
    due: int
    before: int
    status: DeliveryStatus
    moves_status: bool


class Database:
    """Decides and moves. Remembers every decision, since the same situations come up often."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.policy = setup.policy()
        self._orders: dict[tuple[Ledger, int, int], Order] = {}

    def order(self, ledger: Ledger, g: int, t: int) -> Order:
        key = (ledger, g, t)
        if key not in self._orders:
            facts = self.facts(ledger, g, t)
            move = next_move(facts, moment(t))
            self._orders[key] = _ordered(facts, move, ledger.rows[g].status, t)
        return self._orders[key]

    def facts(self, ledger: Ledger, g: int, t: int) -> Facts:
        row = ledger.rows[g]
        return Facts(
            delivery_id="model",
            generation=g + 1,
            attempts=tuple(
                self._attempt(a, h, n, r, t)
                for h, r in enumerate(ledger.rows)
                for n, a in enumerate(r.tries)
            ),
            evidence=tuple(
                EvidenceFact(h + 1, "operator" if v == "said" else "key_lookup",
                             "found" if v == "said" else v, moment(at))
                for h, r in enumerate(ledger.rows)
                for v, at in r.seen
            ),
            policy=self.policy,
            key_first_used_at=moment(row.key_first) if row.key_first != NEVER else None,
            not_after=moment(self.setup.not_after) if self.setup.not_after != NEVER else None,
            withdrawn=row.withdrawn,
            decision=row.decision,
            decided_at=moment(row.decided) if row.decision else None,
            held=("paused",) if ledger.paused else (),
        )  # fmt: skip

    def _attempt(self, a: Try, g: int, number: int, row: Row, t: int) -> AttemptFact:
        held = a.closed == NEVER and a.current and row.leased_at(t)
        outcome = a.outcome
        if "timeout means pending" in self.setup.faults and a.closed == NEVER and not held:
            outcome = "not_sent"
        return AttemptFact(
            generation=g + 1,
            number=number + 1,
            outcome=outcome,
            opened_at=moment(a.opened),
            closed_at=moment(a.closed) if a.closed != NEVER else None,
            lease_until=moment(a.lease_until),
            deadline_s=DEADLINE * TICK.total_seconds(),
            held=held,
            key_scope=self.policy.key_scope,
            permanent=a.outcome == "refused",
        )


def _ordered(facts: Facts, move: NextMove, status: DeliveryStatus, t: int) -> Order:
    """The decision, with the real function that carries it out."""
    case: Any = SimpleNamespace(status=status, now=moment(t))
    decided = Decided(case, facts, move)
    action = ""
    if move.status == status and move.kind in STARTS:
        action = STARTS[move.kind]
    elif (carrier := _carrier(decided)) is not None:
        action = carrier.__name__
    return Order(
        action, due_tick(decided.due_at), last_tick(move.before), move.status, decided.moves_status
    )


def apply(row: Row, action: str, due: int, t: int, *, leased: bool = True) -> Row | None:
    """The row after a move, a postponement or a hand-over; None where its guard fails.

    Args:
        leased: the caller holds the lease. Without one an item under a lease keeps its time.
    """
    if action in MOVES:
        if row.status not in MOVES[action].sources:
            return None
        target = MOVES[action].target
        # Without a moment to look again, the decision was to ask a person.
        asked = due == NEVER and target in OPEN
        moved = row._replace(status=target, asked=asked)
        if due != NEVER and not leased and row.leased_at(t):
            return moved
        return moved._replace(due=due, leased=False)
    if row.status not in RESTING:
        return None
    if action == "postpone":
        return row._replace(due=due, leased=False) if row.due != NEVER else None
    return row._replace(due=NEVER, leased=False, asked=True)


def woken(row: Row, t: int) -> Row:
    """Due now, if it is open and nobody holds it."""
    if row.status not in OPEN or row.leased_at(t):
        return row
    return row._replace(due=t, leased=False)


def released(row: Row, t: int) -> Row:
    return row._replace(due=t, leased=False) if row.leased else row
