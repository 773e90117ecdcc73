"""Clocks and schedules of a delivery, all in seconds."""

import time

_BOOTTIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)


def boottime() -> float:
    """Seconds on a clock that never steps and keeps counting while the machine is suspended.

    A lease goes on running while a laptop sleeps, so the last check before the first byte must
    count that time too; `CLOCK_MONOTONIC` does not (clock_gettime(2)). Where the system has no
    `CLOCK_BOOTTIME` (anything but Linux), the monotonic clock.
    """
    return time.monotonic() if _BOOTTIME is None else time.clock_gettime(_BOOTTIME)
