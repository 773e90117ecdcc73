"""Being told of the points that this process passes, and acting at one of them.

The name is on file, synced, before anything happens there: what a killed process leaves behind says
where it was killed, and nobody has to guess from outside.
"""

import os
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ledgers import boundaries

POINTS = "points"

Act = Callable[[], None]


def die() -> None:
    """SIGKILL this very process: no handler, no `finally`, no goodbye."""
    os.kill(os.getpid(), signal.SIGKILL)


def freeze() -> None:
    """SIGSTOP this very process, every thread of it, until somebody lets it go on.

    Sent to this thread: a signal to the process may let it run on for a moment.
    """
    signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


ACTS: dict[str, Act] = {"kill": die, "stop": freeze}


@dataclass(slots=True)
class Point:
    """Act at the `nth` passing of the point of this name, in whichever thread it is passed."""

    name: str
    act: Act
    file: Path
    nth: int = 1
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def passed(self, name: str) -> None:
        """The listener of `ledgers.boundaries`."""
        if name != self.name:
            return
        with self._lock:
            self.nth -= 1
            if self.nth != 0:
                return
        note(self.file, name)
        self.act()


def arm(folder: Path, armed: Mapping[str, Any] | None) -> None:
    """Listen in this process: `{"at": name, "do": "kill" or "stop", "nth": 1}`, or to nothing."""
    if armed:
        point = Point(armed["at"], ACTS[armed["do"]], folder / POINTS, armed.get("nth", 1))
        boundaries.listen(point.passed)


def note(path: Path, name: str) -> None:
    """Write a point's name, and wait until it is on disk."""
    file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        os.write(file, name.encode() + b"\n")
        os.fsync(file)
    finally:
        os.close(file)


def points_of(path: Path) -> list[str]:
    """The names that a process noted, in order."""
    return path.read_text().splitlines() if path.exists() else []
