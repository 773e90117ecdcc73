"""One round of the watch: look, keep what was found, tell what is owed. It ends in time."""

import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime

from django.conf import settings
from django.db import Error as DatabaseTrouble

from delivery.probing.seeing import look_for_all
from delivery.probing.sending import record_due
from delivery.watch import ways
from delivery.watch.bounded import bounded
from delivery.watch.checks import DATABASE, Finding, State, database_fails, findings, worst
from delivery.watch.deadman import Deadman, deserves_ping
from delivery.watch.message import message_of
from delivery.watch.notebook import Notebook
from delivery.watch.reading import read_figures
from delivery.watch.store import Keeper, Ledger, Turn, knows_all
from delivery.watch.ways import Way

logger = logging.getLogger(__name__)
LOOK_LIMIT_S = 20.0
# A database that is being restarted is asked once more before a person is woken.
ASKED_AGAIN_AFTER_S = 3.0
NO_DATABASE = (DatabaseTrouble, LookupError, OSError)  # TimeoutError is an OSError


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen. `at`: on the database's clock where it answered."""

    at: datetime
    found: tuple[Finding, ...]

    @property
    def state(self) -> State:
        return worst(self.found)

    @property
    def has_database(self) -> bool:
        return bool(self.in_ledger)

    @property
    def in_ledger(self) -> list[Finding]:
        return [finding for finding in self.found if finding.check != DATABASE]

    @property
    def in_notebook(self) -> list[Finding]:
        """What cannot be kept in the database, since it is about the database."""
        return [finding for finding in self.found if finding.check == DATABASE]


@dataclass(frozen=True, slots=True)
class Told:
    """One use of a way: how many alarms, and why it was not accepted ("" where it was)."""

    way: str
    alarms: int
    why_not: str


def look() -> Look:
    """Look now. It answers also where the database does not, and never raises: a watch that cannot
    look has something to say.
    """
    try:
        return _look()
    except NO_DATABASE as first:
        logger.warning("the database does not answer: %s", _words(first))
        time.sleep(ASKED_AGAIN_AFTER_S)
    except Exception:
        logger.exception("the watch cannot look")
    try:
        return _look()
    except Exception as error:  # noqa: BLE001  whatever it is, it is told
        return _without_database(error)


def look_once(limit_s: float) -> Look:
    """Look once and for so many seconds at most, for whoever asks and waits. Never raises."""
    try:
        return _look(limit_s)
    except Exception as error:  # noqa: BLE001  whatever it is, it is what there is to say
        return _without_database(error, limit_s)


def _look(limit_s: float = LOOK_LIMIT_S) -> Look:
    figures = bounded(limit_s, read_figures)
    return Look(figures.now, tuple(findings(figures)))


def _without_database(error: BaseException, limit_s: float = LOOK_LIMIT_S) -> Look:
    now = datetime.now(UTC)
    return Look(now, (database_fails(_words(error, limit_s), now),))


def _words(error: BaseException, limit_s: float = LOOK_LIMIT_S) -> str:
    """The first line: drivers add hints, and whole queries."""
    if isinstance(error, TimeoutError) and not str(error):
        return f"no answer within {limit_s:g} s"
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


@dataclass(frozen=True, slots=True)
class Round:
    """What a round saw, and what it told."""

    look: Look
    told: tuple[Told, ...] = ()


class Pusher:
    """Keeps what looks find, and tells it; and pings the switch outside while that works."""

    def __init__(self) -> None:
        self._notebook = Notebook(settings.COUNTERFOIL_DATA)
        self._deadman = Deadman()

    def push(self, seen: Look) -> Round:
        """Keep what was seen, and tell every way what it is owed."""
        configured = ways.configured()
        told: list[Told] = []
        if seen.has_database:
            _probe()
            try:
                told += self._through(Ledger(), seen.in_ledger, seen.at, configured)
            except Exception as error:  # such as: it can be read, and not be written
                logger.exception("what was seen cannot be kept")
                seen = _without_database(error)
        else:
            logger.warning("%s", seen.found[0].sentence)
        told += self._through(self._notebook, seen.in_notebook, datetime.now(UTC), configured)
        if self._is_known(seen, [way.name for way in configured]):
            self._deadman.ping()
        return Round(seen, tuple(told))

    def _is_known(self, seen: Look, names: Sequence[str]) -> bool:
        looked = seen.has_database
        try:
            return bounded(
                LOOK_LIMIT_S, lambda: deserves_ping(seen.state, names, knows_all, looked=looked)
            )
        except NO_DATABASE:
            return False

    def _through(
        self, keeper: Keeper, found: Sequence[Finding], at: datetime, configured: Sequence[Way]
    ) -> list[Told]:
        by_name = {way.name: way for way in configured}
        turns = bounded(LOOK_LIMIT_S, lambda: _kept_and_taken(keeper, found, at, list(by_name)))
        if not turns:
            return []
        # All at once: a mail server that hangs holds up no webhook, and no lease ends in a queue.
        with ThreadPoolExecutor(len(turns)) as pool:
            return list(pool.map(lambda turn: _tell(keeper, by_name[turn.way], turn), turns))


def _probe() -> None:
    """Record the probes whose turn has come, and look for those that were accepted."""
    try:
        bounded(LOOK_LIMIT_S, record_due, "probe")
        bounded(LOOK_LIMIT_S, look_for_all, "probe")
    except Exception:  # an alarm is told all the same, about the probes too
        logger.exception("probing failed")


def _kept_and_taken(
    keeper: Keeper, found: Sequence[Finding], at: datetime, names: Sequence[str]
) -> list[Turn]:
    keeper.keep(found, at, names)
    return [turn for turn in map(keeper.take, names) if turn is not None]


def _tell(keeper: Keeper, way: Way, turn: Turn) -> Told:
    """Send, then write: a crash in between tells it twice, never not at all."""
    try:
        why_not = way.send(message_of(turn.alarms))
    except Exception as error:  # tried again like any other failure, and shown in the console
        logger.exception("an alarm could not be worded or sent")
        why_not = f"{type(error).__name__}: {error}"
    if why_not:
        logger.warning("an alarm was not accepted by %s: %s", way.shown, why_not)
    try:
        bounded(LOOK_LIMIT_S, lambda: keeper.settle(turn, why_not))
    except NO_DATABASE as error:
        logger.warning("told %s, and could not write it down: %s", way.shown, _words(error))
    return Told(way.shown, len(turn.alarms), why_not)
