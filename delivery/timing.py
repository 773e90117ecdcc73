"""Clocks and schedules of a delivery, all in seconds."""

import hashlib
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

# Pauses are spread by this much to either side, so that what failed together does not return
# together.
JITTER = 0.2

# A provider that asks for more is asked again after a week all the same.
MAX_RETRY_AFTER_S = 7 * 86_400.0
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

_BOOTTIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)


def boottime() -> float:
    """Seconds on a clock that never steps and keeps counting while the machine is suspended.

    A lease goes on running while a laptop sleeps, so the last check before the first byte must
    count that time too; `CLOCK_MONOTONIC` does not (clock_gettime(2)). Where the system has no
    `CLOCK_BOOTTIME` (anything but Linux), the monotonic clock.
    """
    return time.monotonic() if _BOOTTIME is None else time.clock_gettime(_BOOTTIME)


def backoff_s(identity: str, number: int, schedule: Sequence[float]) -> float:
    """Seconds to pause after attempt `number` (from 1); the schedule's last entry repeats.

    The jitter comes from the identity, so the same delivery pauses alike in every process and
    after every restart.
    """
    if not schedule or number < 1:
        return 0.0
    base = schedule[min(number, len(schedule)) - 1]
    digest = hashlib.sha256(f"{identity}:{number}".encode()).digest()
    unit = int.from_bytes(digest[:8], "big") / 2**64
    return base * (1 - JITTER + 2 * JITTER * unit)


def after(moment: datetime, seconds: float) -> datetime:
    """The moment so many seconds later; beyond the calendar it is the calendar's end (or begin).

    Schedules and promises come from people and from providers: no number they write may make a
    decision impossible.
    """
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return _LAST if seconds > 0 else _FIRST


def asked_pause_s(retry_after_s: float | None) -> float:
    """Seconds that a provider's "come back later" is honoured: 0 for nonsense, a week at most."""
    # `max` keeps its first argument where the other is no number.
    return min(max(0.0, retry_after_s or 0.0), MAX_RETRY_AFTER_S)
