"""Decide about deliveries, and carry out every decision that needs no network."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from delivery import inputs
from delivery.facts import Facts
from delivery.history import Case
from delivery.next_move import Kind, NextMove, next_move
from ledgers import moves, outbox
from ledgers.moves import Change
from ledgers.states import DeliveryStatus


@dataclass(frozen=True, slots=True)
class Decided:
    """A case, the move that its history allows, and the facts that were seen."""

    case: Case
    facts: Facts
    move: NextMove

    def change(self, actor: str, *, due_at: datetime | None, fence: int | None) -> Change:
        return Change(
            id=self.case.id,
            status=self.case.status,
            version=self.case.version,
            fence=fence,
            rule=self.move.rule,
            cause=f"{self.move.rule}: {self.move.why}",
            actor=actor,
            inputs=inputs.dump(self.facts, self.case.now, self.move),
            due_at=due_at,
        )

    @property
    def due_at(self) -> datetime | None:
        """When a machine must look again; None where only a person can go on."""
        if self.move.kind == Kind.WAIT:
            return self.move.until
        return self.case.now if self.move.kind in {Kind.SUBMIT, Kind.LOOK_UP} else None

    @property
    def moves_status(self) -> bool:
        return self.move.kind == Kind.FINISH or self.move.status != self.case.status


def decide(case: Case, facts: Facts | None = None) -> Decided:
    """The next move of one case. `facts` replaces the case's own where more became known."""
    facts = facts or case.facts
    return Decided(case, facts, next_move(facts, case.now))


def hold_back(decided: Decided, *, held: str = "", unreadable: str = "") -> Decided:
    """Decide again, knowing that it cannot be rendered (now, or for good)."""
    reasons = (*decided.facts.held, held) if held else decided.facts.held
    facts = replace(decided.facts, held=reasons, unreadable=unreadable)
    return decide(decided.case, facts)


def carry_out(
    decided: Iterable[Decided],
    actor: str,
    *,
    leased: bool = True,
    turns: Mapping[int, datetime] = MappingProxyType({}),
) -> set[int]:
    """Move rows to where their decisions put them, and their items to when they are due.

    Args:
        decided: decisions about rows that the caller holds (`moves.hold`).
        actor: who, for the trail.
        leased: the caller holds the leases; without one (evidence, people) only moves are made,
            and an item under somebody's lease keeps its time.
        turns: by delivery, when it is looked at again instead of when its decision says.

    Returns:
        the ids that were changed; the others were moved by somebody else meanwhile.
    """
    groups: dict[Callable[[Sequence[Change]], set[int]], list[Change]] = {}
    for item in decided:
        carrier = _carrier(item)
        if carrier is not None and (leased or item.moves_status):
            change = item.change(
                actor,
                due_at=turns.get(item.case.id, item.due_at),
                fence=item.case.fence if leased else None,
            )
            groups.setdefault(carrier, []).append(change)
    return {row_id for carrier, changes in groups.items() for row_id in carrier(changes)}


def _carrier(item: Decided) -> Callable[[Sequence[Change]], set[int]] | None:
    """The one function that carries out this decision."""
    move, status = item.move, item.case.status
    if move.kind == Kind.FINISH:
        return moves.FINISHES[move.status]
    if move.status != status:
        return moves.suspect if move.status == DeliveryStatus.UNKNOWN else moves.clear
    if status == DeliveryStatus.SUBMITTING:
        return None  # in flight: whoever opened the attempt settles it
    if move.kind in {Kind.ASK, Kind.REST}:
        return _ask if move.kind == Kind.ASK else _rest
    return outbox.postpone


def _ask(changes: Sequence[Change]) -> set[int]:
    return outbox.hand_over(changes, "ask")


def _rest(changes: Sequence[Change]) -> set[int]:
    return outbox.hand_over(changes, "rest")
