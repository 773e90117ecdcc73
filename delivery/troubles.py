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
        self._said: dict[str, float] = {}  # until when what is not said again
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
        why, now = _worded(error), boottime()
        self._since = now if self._since is None else self._since
        if not self._is_news(why, now):
            return
        logger.error(
            "the database fails since %.0f s: %s. Nothing new is sent, %d answers are kept; tried"
            " every second",
            now - self._since,
            why,
            kept,
        )

    def database_works(self) -> None:
        """Whatever could not be written has been."""
        if self._since is not None:
            logger.warning("the database works again, after %.0f s", boottime() - self._since)
            self._said.clear()
        self._since = None

    def error(self, error: BaseException) -> None:
        """The worker goes on after this. The same again within a minute is only counted."""
        if not self._is_news(_worded(error), boottime()):
            self._unsaid += 1
            return
        more = f" ({self._unsaid} lines about errors were left out)" if self._unsaid else ""
        self._unsaid = 0
        logger.error("the worker goes on after an error%s", more, exc_info=error)

    def _is_news(self, what: str, now: float) -> bool:
        """Whether it was not said within the last minute; it counts as said from now on."""
        if now < self._said.get(what, 0.0):
            return False
        if len(self._said) >= MOST_KINDS:
            self._said.clear()
        self._said[what] = now + AGAIN_S
        return True


def _worded(error: BaseException) -> str:
    """In one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
