"""A channel's tries on a line of time, against the window in which its key protects them."""

import math
from dataclasses import dataclass

from reviews.capability import Capability
from reviews.wording import duration

WIDTH, LEFT, RIGHT = 640, 10, 630
TICKS = ((0, "0"), (1, "1 s"), (10, "10 s"), (60, "1 min"), (600, "10 min"), (3_600, "1 h"),
         (21_600, "6 h"), (86_400, "1 d"), (604_800, "7 d"), (2_592_000, "30 d"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Try:
    """One planned attempt. `protected`: the same key still means the same message."""

    number: int
    x: float
    after: str
    protected: bool


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Schedule:
    """`room_x` and `window_x` are None where no key protects anything."""

    tries: tuple[Try, ...]
    ticks: tuple[Tick, ...]
    room_x: float | None
    window_x: float | None

    @property
    def unprotected(self) -> int:
        return sum(not one.protected for one in self.tries)

    @property
    def room_width(self) -> float:
        return round((self.room_x or LEFT) - LEFT, 1)

    @property
    def margin_width(self) -> float:
        return round((self.window_x or LEFT) - (self.room_x or LEFT), 1)


def schedule_of(one: Capability) -> Schedule:
    """The planned attempts, each at the latest moment that jitter allows."""
    moments = [0.0]
    for n in range(one.channel.max_attempts - 1):
        pauses = one.channel.retry_schedule
        moments.append(moments[-1] + pauses[min(n, len(pauses) - 1)] * 1.2)
    keyed = one.declared is not None and one.declared.key is not None and one.window.seconds > 0
    room = one.room_s if keyed else 0.0
    end = max(moments[-1], one.window.seconds if keyed else 0.0, 10.0) * 1.3
    tries = tuple(
        Try(n, _x(at, end), duration(at), keyed and at < room) for n, at in enumerate(moments, 1)
    )
    return Schedule(
        tries,
        tuple(Tick(_x(at, end), label) for at, label in TICKS if at <= end),
        _x(room, end) if keyed else None,
        _x(one.window.seconds, end) if keyed else None,
    )


def _x(at: float, end: float) -> float:
    """Seconds to a place on the line; logarithmic, for schedules span seconds to days."""
    return round(LEFT + (RIGHT - LEFT) * math.log10(1 + at) / math.log10(1 + end), 1)
