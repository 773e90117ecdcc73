"""A stranger's code that ends its process takes every worker of this host along, one by one.

A file stands in the data folder while such code runs. A process that ends meanwhile leaves it
behind, and so names the code. Where that happened to several processes within an hour, and the code
did not return once since, it is called no more: its channel is held and says why. Nothing of this
decides about a delivery, and without a data folder, or without /proc, there is no such protection.
"""

import hashlib
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

from ledgers.holder import is_gone, present

DEATHS = 3  # processes
HOUR_S = 3600.0
REMEMBERED_S = 1.0

_remembered: dict[str, tuple[float, str]] = {}
_has_left: set[str] = set()  # code of which some process here has left a file behind
os.register_at_fork(after_in_child=_remembered.clear)


@contextmanager
def running(code: str) -> Iterator[None]:
    """While this code (a dotted path) runs. Returning or raising, it has not ended the process."""
    mark = _put_up(code)
    try:
        yield
    finally:
        if mark is not None:
            with suppress(OSError):
                mark.unlink()
            if code in _has_left:
                _forgive(code)


def deadly(code: str) -> str:
    """Why this code must not be called here now; empty where it may."""
    known = _remembered.get(code)
    if known is None or time.monotonic() - known[0] > REMEMBERED_S:
        known = _remembered[code] = (time.monotonic(), _look(code))
    return known[1]


def _look(code: str) -> str:
    left = _left_behind(code)
    if left:
        _has_left.add(code)
    if len(left) < DEATHS:
        return ""
    until = datetime.fromtimestamp(sorted(left.values())[-DEATHS] + HOUR_S, UTC)
    return (
        f"{code} was running when {len(left)} processes on this host ended; it is tried again"
        f" after {until:%H:%M} UTC, or when {_folder(code)} is removed"
    )


def _left_behind(code: str) -> dict[str, float]:
    """The processes that ended in it within the last hour, and when they entered it."""
    left: dict[str, float] = {}
    with suppress(OSError):
        for mark in list(_folder(code).iterdir()):
            with suppress(OSError):
                holder, entered = mark.read_text(), mark.stat().st_mtime
                if not is_gone(holder):
                    continue
                if time.time() - entered > HOUR_S:
                    mark.unlink()
                else:
                    left[holder] = max(entered, left.get(holder, 0.0))
    return left


def _forgive(code: str) -> None:
    """It ran and returned: whatever ended those processes, it is not that it is called."""
    with suppress(OSError):
        for mark in list(_folder(code).iterdir()):
            with suppress(OSError):
                if is_gone(mark.read_text()):
                    mark.unlink()
    _has_left.discard(code)


def _put_up(code: str) -> Path | None:
    holder = present()
    if not holder:
        return None
    folder = _folder(code)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        mark = folder / uuid.uuid4().hex
        mark.write_text(holder)
    except OSError:
        return None
    return mark


def _folder(code: str) -> Path:
    data: Path = settings.COUNTERFOIL_DATA
    return data / "running" / hashlib.sha256(code.encode()).hexdigest()[:16]
