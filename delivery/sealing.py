"""A worker seals the record in passing: once a minute, or as soon as a whole batch waits."""

from delivery.timing import boottime
from ledgers import seals

LOOK_EVERY_S = 5.0


class Sealing:
    """Looks at most every five seconds whether a seal is due, and makes it."""

    def __init__(self) -> None:
        self._next = boottime() + LOOK_EVERY_S

    def turn(self) -> bool:
        """Make one seal if it is time to; tell whether more may wait."""
        if boottime() < self._next:
            return False
        # After a whole batch the next may wait already; the worker's own turn comes in between.
        full = seals.is_due() and seals.seal() == seals.BATCH
        self._next = boottime() + (0 if full else LOOK_EVERY_S)
        return full


def seal_if_due() -> None:
    """One seal at the end of a shift, if it is time to."""
    if seals.is_due():
        seals.seal()
