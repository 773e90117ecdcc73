"""The dead-man's switch outside: it is pinged as long as a person would be told.

Its silence is an alarm of its own, which no part of this installation has to send: the watch has
ended with its host, cannot look, or finds something and reaches nobody.
"""

import logging
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from django.conf import settings

from delivery.channels import alarms
from delivery.channels.secrets import fingerprint
from delivery.timing import boottime
from delivery.watch.bounded import bounded
from delivery.watch.checks import State
from delivery.watch.store import note_use
from delivery.watch.ways import Seen, seen_as
from ledgers.management.words import plain

logger = logging.getLogger(__name__)
# Services of this kind take a few pings a minute, and a watch may look more often.
EVERY_S = 60.0
LIMIT_S = 15.0


def deserves_ping(
    state: State, ways: Sequence[str], knows_all: Callable[[str], bool], *, looked: bool
) -> bool:
    """Whether all is well, or whoever there is to be told knows what is not.

    Args:
        state: the worst that the look found.
        ways: the names of the ways that the settings name.
        knows_all: whether a way has accepted everything that there is to tell.
        looked: the database answered.
    """
    if not looked:
        return False
    return any(map(knows_all, ways)) if ways else state is State.OK


class Deadman:
    """Pings at most once a minute."""

    def __init__(self) -> None:
        self._next = 0.0

    def ping(self) -> str:
        """Ping if one is set and it is time to; "" unless that failed. Never raises."""
        url = settings.COUNTERFOIL_DEADMAN_URL
        if not url or boottime() < self._next:
            return ""
        self._next = boottime() + EVERY_S
        try:
            why_not = bounded(LIMIT_S, lambda: alarms.ping(url), "deadman")
        except TimeoutError:
            why_not = f"no answer within {LIMIT_S:g} s"
        if why_not:
            logger.warning("the dead-man's switch was not reached: %s", why_not)
        try:
            bounded(LIMIT_S, lambda: note_use(_name(url), why_not))
        except Exception:
            logger.exception("the ping of the dead-man's switch cannot be written down")
        return why_not


def _name(url: str) -> str:
    # The path is the switch's secret: whoever has it keeps it quiet.
    return f"deadman:{fingerprint(url)}"


def seen() -> Seen | None:
    """The switch and what became of its last ping; None where none is set."""
    url = settings.COUNTERFOIL_DEADMAN_URL
    return seen_as(_name(url), plain(urlsplit(url).hostname or "none")) if url else None
