"""One worker confined to one channel and one thread: the same claim, wave, call and settle.

Drills run beside other channels' deliveries, which they must not touch; and with one thread the
order of points is the same each time.
"""

from collections.abc import Callable

from django.db import InterfaceError, OperationalError, connection

from delivery.heartbeat import new_identity
from delivery.reconcile import Search, settle_searches
from delivery.settle import settle
from delivery.submit import Call
from delivery.timing import boottime
from delivery.wave import open_wave
from ledgers import outbox

AT_ONCE = 100


class Lane:
    """Works what is due on one channel, by its primary key."""

    def __init__(self, channel: int) -> None:
        self._channel = channel
        self._who = new_identity()

    def work(self) -> int:
        """Until a claim comes back empty; how many were claimed in all."""
        total = 0
        while claimed := self.turn():
            total += claimed
        return total

    def turn(self) -> int:
        """Claim, decide, submit or search, settle; how many were claimed."""
        mark = boottime()
        claimed = outbox.claim({self._channel: AT_ONCE})
        jobs = open_wave(claimed, mark, self._who)
        for job in jobs:
            job.run()
        calls = [job for job in jobs if isinstance(job, Call)]
        searches = [job for job in jobs if isinstance(job, Search)]
        _write(lambda: settle(calls, self._who.name))
        _write(lambda: settle_searches(searches, self._who.name))
        return len(claimed)


def _write(write: Callable[[], object]) -> None:
    """Write; once more on another connection if this one was lost. Only the write, no call."""
    try:
        write()
    except (OperationalError, InterfaceError):
        connection.close()
        write()
