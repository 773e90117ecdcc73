"""What goes wrong with a worker's own steps: said when it begins, seldom while it lasts, and once
more when it is over. A log that repeats itself a hundred times a second hides what is wrong.
"""

import logging

from delivery.timing import boottime

logger = logging.getLogger("delivery.worker")

AGAIN_S = 60.0  # between two lines about the same
MOST_KINDS = 100  # errors that are told apart


class Troubles:
    """One worker's. `outage`: the database fails at this moment."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._next = 0.0
        self._said: dict[str, float] = {}
        self._unsaid = 0

    @property
    def outage(self) -> bool:
        return self._since is not None

    def database_fails(self, error: BaseException, kept: int) -> None:
        """Nothing can be written now.

        Args:
            error: why.
            kept: how many answers wait to be written.
        """
        now = boottime()
        self._since = now if self._since is None else self._since
        if now < self._next:
            return
        self._next = now + AGAIN_S
        logger.error(
            "the database fails since %.0f s: %s. Nothing new is sent, %d answers are kept; tried"
            " every second",
            now - self._since,
            _worded(error),
            kept,
        )

    def database_works(self) -> None:
        """Whatever could not be written has been."""
        if self._since is not None:
            logger.warning("the database works again, after %.0f s", boottime() - self._since)
        self._since, self._next = None, 0.0

    def error(self, error: BaseException) -> None:
        """The worker goes on after this. The same again within a minute is only counted."""
        kind, now = _worded(error), boottime()
        if now < self._said.get(kind, 0.0):
            self._unsaid += 1
            return
        if len(self._said) >= MOST_KINDS:
            self._said.clear()
        self._said[kind] = now + AGAIN_S
        more = f" ({self._unsaid} lines about errors were left out)" if self._unsaid else ""
        self._unsaid = 0
        logger.error("the worker goes on after an error%s", more, exc_info=error)


def _worded(error: BaseException) -> str:
    """In one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
