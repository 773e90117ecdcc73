"""What the model's states are made of. Small tuples, so that millions of them fit.

Time runs in ticks of 30 seconds, which is also how often a hold is looked at again. Fences and
versions are compared for equality only and never come back, so that a worker needs to remember
only whether its own are still the row's: the model loses nothing by that.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from math import ceil, floor
from typing import NamedTuple

from delivery.facts import Policy
from ledgers.states import DeliveryStatus

TICK = timedelta(seconds=30)
BASE = datetime(2026, 12, 1, 9, tzinfo=UTC)
NEVER = -1

LEASE, DEADLINE, SETTLE = 3, 1, 1  # ticks


@dataclass(frozen=True)
class Setup:
    """One world: what the provider promises and does, what people may do, and how far to look.

    Args:
        answers: what the provider may do with a submission, besides accepting and losing it.
        until: the last tick. `most`: states after which no further level is explored.
        tries: the most attempts per generation that count.
        window: ticks for which the provider honours a key; 0: it honours none.
        looks: entries of the look-up schedule. `reconciler`: searches without a lease.
        decisions: decisions that people may take, of all kinds in `people`.
        faults: deliberate breakages of the protocol, by name.
    """

    name: str
    until: int = 8
    most: int = 10_000_000
    tries: int = 2
    window: int = 0
    looks: int = 0
    automatic: bool = False
    not_after: int = NEVER
    answers: tuple[str, ...] = ()
    unclear: bool = False
    reconciler: int = 0
    people: tuple[str, ...] = ()
    decisions: int = 1
    faults: frozenset[str] = field(default_factory=frozenset)

    def policy(self) -> Policy:
        tick = TICK.total_seconds()
        return Policy(
            retry_schedule=(tick * 0.8,),
            look_up_schedule=(tick / 2,) * self.looks,
            max_attempts=self.tries,
            deadline_s=DEADLINE * tick,
            margin_s=0,
            processing_s=SETTLE * tick,
            key_honoured=self.window > 0,
            key_scope="endpoint" if self.window else "",
            window_s=self.window * tick,
            can_look_up=self.looks > 0,
            resend_after_absent=self.automatic,
        )


class Try(NamedTuple):
    """An attempt. `current`: its fence is still the row's."""

    opened: int
    lease_until: int
    closed: int = NEVER
    outcome: str = ""
    current: bool = True


class Row(NamedTuple):
    """One delivery of one generation, with its place in the outbox.

    `due`: NEVER where no machine owes anything. `asked`: a person was asked or left it.
    """

    status: DeliveryStatus = DeliveryStatus.PENDING
    tries: tuple[Try, ...] = ()
    seen: tuple[tuple[str, int], ...] = ()
    key_first: int = NEVER
    withdrawn: bool = False
    decision: str = ""
    decided: int = NEVER
    due: int = 0
    leased: bool = False
    asked: bool = False

    def leased_at(self, t: int) -> bool:
        return self.leased and self.due > t


class Ledger(NamedTuple):
    """The database: a row for each generation, and whether the channel is paused."""

    rows: tuple[Row, ...] = (Row(),)
    paused: bool = False

    def put(self, g: int, row: Row) -> "Ledger":
        return self._replace(rows=(*self.rows[:g], row, *self.rows[g + 1 :]))


class OnWire(NamedTuple):
    """A submission that may still arrive. `outlived`: written after its checked limits."""

    g: int
    number: int
    arrive_by: int
    outlived: bool


class Effect(NamedTuple):
    """What one generation came to at the provider.

    `received`: messages that people got. `first`: when the first was accepted.
    `outlived`: one of them came from a process that was frozen after its last check.
    """

    received: int = 0
    first: int = NEVER
    outlived: bool = False


class Provider(NamedTuple):
    effects: tuple[Effect, Effect] = (Effect(), Effect())
    wire: tuple[OnWire, ...] = ()


class Worker(NamedTuple):
    """One worker (or the reconciler), between two of its steps.

    `fence`, `version`: whether they are still the row's. `mark`: when it claimed, or began a
    search. `action`, `due`, `before`: the decision it carries out. `checked`: when it made the last
    check. `word`: an outcome or verdict.
    """

    phase: str = "idle"
    g: int = 0
    fence: bool = True
    version: bool = True
    mark: int = NEVER
    number: int = NEVER
    action: str = ""
    due: int = NEVER
    before: int = NEVER
    checked: int = NEVER
    word: str = ""


IDLE = Worker()


class People(NamedTuple):
    """What is left of the operator's and the reconciler's budget, and the reconciler itself."""

    decisions: int = 0
    looks: int = 0
    search: Worker = IDLE


@cache
def moment(t: int) -> datetime:
    return BASE + t * TICK


def due_tick(at: datetime | None) -> int:
    """The first tick at which this moment has come."""
    return NEVER if at is None else ceil((at - BASE) / TICK)


def last_tick(at: datetime | None) -> int:
    """The last tick that is not past this moment."""
    return NEVER if at is None else floor((at - BASE) / TICK)
