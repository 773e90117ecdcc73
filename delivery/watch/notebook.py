"""The one alarm that the database cannot keep: that it does not answer. Kept in a small file.

In the data folder, under a lock; where there is no writable one, in this process alone, so that a
watch started anew tells it again. Watches on several hosts each tell it once.
"""

import fcntl
import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from delivery.watch.alarms import Alarm, introduced, kept
from delivery.watch.checks import Finding, State
from delivery.watch.store import (
    FIRST_BACKOFF_S,
    GATHER_S,
    LEASE_S,
    LONGEST_BACKOFF_S,
    Turn,
)

logger = logging.getLogger(__name__)
FILE = "watch.json"
EVER = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class Use:
    """One way, as its row in the database would have it."""

    lease_until: datetime = EVER
    fence: int = 0
    next_at: datetime = EVER
    failures: int = 0


@dataclass(slots=True)
class Page:
    """All that the file holds."""

    alarms: list[Alarm] = field(default_factory=list)
    uses: dict[str, Use] = field(default_factory=dict)

    def use(self, way: str) -> Use:
        return self.uses.setdefault(way, Use())


class Notebook:
    """Keeps alarms in a file of this folder, on this machine's clock."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._in_memory = Page()
        self._complained = False

    def keep(self, found: Sequence[Finding], now: datetime, ways: Sequence[str]) -> None:
        with self._page() as page:
            before = page.alarms or [Alarm(one.check, one.channel) for one in found]
            page.alarms = kept([introduced(alarm, ways) for alarm in before], found, now)

    def take(self, way: str) -> Turn | None:
        with self._page() as page:
            use, now = page.use(way), datetime.now(UTC)
            owed = tuple(alarm for alarm in page.alarms if alarm.owes(way))
            if not owed or now < use.lease_until or now < use.next_at:
                return None
            use.lease_until = now + timedelta(seconds=LEASE_S)
            use.fence += 1
            return Turn(way, use.fence, owed)

    def settle(self, turn: Turn, why_not: str) -> None:
        with self._page() as page:
            now = datetime.now(UTC)
            if not why_not:
                page.alarms = [_told(alarm, turn) for alarm in page.alarms]
            use = page.use(turn.way)
            if use.fence != turn.fence:
                return
            pause_s = GATHER_S
            if why_not:
                pause_s = min(FIRST_BACKOFF_S * 2.0 ** min(use.failures, 20), LONGEST_BACKOFF_S)
            use.failures = use.failures + 1 if why_not else 0
            use.lease_until, use.next_at = now, now + timedelta(seconds=pause_s)

    @contextmanager
    def _page(self) -> Iterator[Page]:
        try:
            file = self._path.open("a+", encoding="utf-8")
        except OSError as error:
            self._complain(error)
            yield self._in_memory
            return
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            before = file.read()
            page = _read(before)
            yield page
            after = json.dumps(asdict(page), default=_as_text)
            if after != before:
                file.seek(0)
                file.truncate()
                file.write(after)

    def _complain(self, error: OSError) -> None:
        if not self._complained:
            logger.warning("cannot keep %s: %s; an alarm may come twice", self._path, error)
        self._complained = True


def _as_text(value: datetime) -> str:
    return value.isoformat()


def _told(alarm: Alarm, turn: Turn) -> Alarm:
    for one in turn.alarms:
        if (one.check, one.channel) == (alarm.check, alarm.channel):
            alarm.told[turn.way] = max(one.serial, alarm.told.get(turn.way, 0))
    return alarm


def _read(text: str) -> Page:
    """What was written; an empty page where it was cut by a crash: told twice, not lost."""
    try:
        value = json.loads(text or "{}")
        alarms = [_alarm(one) for one in value.get("alarms", [])]
        uses = {way: _use(one) for way, one in value.get("uses", {}).items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        return Page()
    return Page(alarms, uses)


def _alarm(value: dict[str, Any]) -> Alarm:
    names = ("since", "better_since", "ended_at", "newest", "raised_at")
    moments = {name: _moment(value[name]) for name in names}
    return Alarm(**(value | moments | {"state": State(value["state"])}))


def _use(value: dict[str, Any]) -> Use:
    moments = {name: _moment(value[name]) or EVER for name in ("lease_until", "next_at")}
    return Use(**(value | moments))


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
