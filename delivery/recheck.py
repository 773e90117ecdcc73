"""Decide again, from what was seen then, and compare: the stored decisions reproduce themselves.

Reads the trail alone. Nothing is looked up, sent or written, so a restored database can be asked
how its decisions came about without repeating a side effect.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from delivery import inputs
from delivery.next_move import Kind, NextMove, next_move
from ledgers import states
from ledgers.models import Event

PAGE = 1000  # events per statement: memory stays flat, and no snapshot is held for long

# Events that say what is done next, whatever the status is.
_STAYS = {"begin": Kind.SUBMIT, "hold": Kind.WAIT, "ask": Kind.ASK, "rest": Kind.REST}
_FINISHES = {"accept", "fail", "expire", "cancel"}
_MOVES = {move.name for move in states.MOVES}


@dataclass(frozen=True, slots=True)
class Difference:
    """One stored decision that the rules do not reproduce, and in what way."""

    event: int
    delivery: int | None
    kind: str
    rule: str
    why: str


@dataclass(slots=True)
class Recheck:
    """A pass over the trail. `count`: decisions seen so far. `last`: the last event looked at."""

    since: int = 0
    count: int = 0
    last: int = 0

    def differences(self) -> Iterator[Difference]:
        """Every stored decision after `since` that comes out otherwise, in trail order."""
        self.last = self.since
        while page := list(self._page()):
            for event in page:
                self.count += 1
                if why := difference(event):
                    yield Difference(event.pk, event.delivery_id, event.kind, event.rule, why)
            self.last = page[-1].pk

    def _page(self) -> Iterator[Event]:
        decided = Event.objects.filter(pk__gt=self.last).exclude(inputs="").order_by("pk")
        fields = ("kind", "rule", "inputs", "from_status", "to_status", "delivery_id")
        yield from decided.only(*fields)[:PAGE]


def difference(event: Event) -> str:
    """How the rules' answer today differs from what the event says, or an empty string."""
    try:
        facts, now = inputs.load(event.inputs)
        said = inputs.load_answer(event.inputs)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        return f"its inputs cannot be read: {error}"
    move = next_move(facts, now)
    answer = inputs.answer(move)
    wrong = [
        f"{name} was {said.get(name, 'none')}, would be {answer.get(name, 'none')}"
        for name in sorted({*said, *answer})
        if said.get(name) != answer.get(name)
    ]
    if event.rule != move.rule:
        wrong.append(f"its rule is {event.rule}, would be {move.rule}")
    if not _led_to(event, move):
        wrong.append(f"{move.kind} does not lead to {event.kind} from {event.from_status}")
    return "; ".join(wrong)


def _led_to(event: Event, move: NextMove) -> bool:
    """Whether this answer is carried out by an event of this kind and these statuses."""
    if event.kind in _STAYS:
        return move.kind == _STAYS[event.kind] and move.status == event.from_status
    finishes = move.kind == Kind.FINISH
    return (
        event.kind in _MOVES
        and finishes == (event.kind in _FINISHES)
        and move.status == event.to_status
    )
