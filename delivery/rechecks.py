"""How often what is held is looked at again: a few rows a second, however many there are.

Ten thousand rows behind a dead host, each looked at twice a minute, are a load for nothing. They
take turns instead. That is no delay for them: whoever lifts a hold wakes what it held, and a worker
that finds a channel open which it knew held wakes the rest.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from delivery.timing import after
from ledgers import outbox

PER_S = 10.0  # rows of one channel that one worker looks at again, per second
# Seconds. What a lost wake-up of one row among many can cost.
LONGEST_S = 3600.0
WOKEN_AT_ONCE = 1000
ANY_HOLD = "held: "


@dataclass(slots=True)
class Rechecks:
    """One worker's. By channel: the last turn that was given, and the hold that has been lifted."""

    _last: dict[int, datetime] = field(default_factory=dict)
    _lifted: dict[int, str] = field(default_factory=dict)
    _woken: int = 0

    def turn(self, channel_id: int, until: datetime, last_moment: datetime | None) -> datetime:
        """When a held row is looked at again.

        Args:
            channel_id: whose row.
            until: not before this.
            last_moment: what expires says so at once, not when its turn comes.
        """
        following = self._last.get(channel_id, until) + timedelta(seconds=1 / PER_S)
        turn = min(max(until, following), after(until, LONGEST_S))
        self._last[channel_id] = turn
        return turn if last_moment is None else min(turn, max(until, last_moment))

    @property
    def waking(self) -> bool:
        """Whether what was woken lately is due now, or more is to be woken."""
        return self._woken > 0

    def lifted(self, channel_id: int, held_by: str = ANY_HOLD) -> None:
        """Nothing holds this channel any more: wake what waits for that, a part of its cause."""
        self._lifted[channel_id] = held_by

    def wake(self) -> None:
        """Wake a thousand rows of each such channel, until there are no more."""
        self._woken = 0
        for channel_id, held_by in list(self._lifted.items()):
            woken = outbox.wake_held(channel_id, held_by, WOKEN_AT_ONCE, LONGEST_S + 60)
            self._woken += woken
            if woken < WOKEN_AT_ONCE:
                del self._lifted[channel_id]
                self._last.pop(channel_id, None)
