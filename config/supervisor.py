"""A small parent that keeps a few processes running until told to stop. No Django, no threads.

    python -m config.supervisor run FOLDER JSON      keep the programs running
    python -m config.supervisor stop FOLDER...       end whoever runs in these data folders

Each program is the leader of a session of its own, so a Ctrl-C at the terminal reaches only the
parent, which tells each leader once: a signal to a whole group kills a send midway. If the parent
dies the kernel tells the leaders (Linux). What a dead leader left behind is swept before its
successor starts.
"""

import argparse
import fcntl
import json
import os
import selectors
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from config import orphans
from config.children import Child, Program

# Longer than the longest usual call to a provider: who is told to stop finishes what is on the
# wire first.
STOP_LIMIT_S = 30.0
PAUSE_S = 0.05
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class AlreadyRunningError(Exception):
    """Another parent keeps this data folder's programs running; the text names its process."""


def supervise(folder: Path, programs: Sequence[Program]) -> None:
    """Keep `programs` running until a stop signal; return when all have ended.

    Args:
        folder: the data folder. One parent at a time; its note names what it started.

    Raises:
        AlreadyRunningError: another parent runs here.
    """
    with _sole(folder) as note, _woken_by_signals() as wake:
        orphans.sweep_noted(note)
        family = Family([Child(program) for program in programs], note)
        family.keep_running(wake)
        family.stop(wake)


@dataclass
class Family:
    """The children, and the note that lets a later parent find what they left behind."""

    children: list[Child]
    note: IO[str]
    stopping: bool = field(default=False, init=False)

    def keep_running(self, wake: "Wake") -> None:
        while not wake.stop_asked:
            started = [child.revive() for child in self.children]
            if any(started):
                orphans.note_down(self.note, [child.pid for child in self.children])
            wake.wait(min(child.pause_s() for child in self.children))

    def stop(self, wake: "Wake") -> None:
        """Tell each leader once; a second stop signal, or the limit, ends the patience."""
        _say("stopping: what is on the wire is finished first (Ctrl-C again ends it at once)")
        wake.stop_asked = False
        give_up = time.monotonic() + STOP_LIMIT_S
        for child in self.children:
            child.tell(signal.SIGTERM)
        while any(child.alive() for child in self.children):
            if wake.stop_asked or time.monotonic() > give_up:
                break
            wake.wait(PAUSE_S)
        for child in self.children:
            child.bury()


class Wake:
    """Sleeps until a signal arrives or a time has passed."""

    def __init__(self, reader: int) -> None:
        self.stop_asked = False
        self._reader = reader
        self._selector = selectors.DefaultSelector()
        self._selector.register(reader, selectors.EVENT_READ)

    def wait(self, seconds: float) -> None:
        if self._selector.select(seconds):
            numbers = os.read(self._reader, 512)
            self.stop_asked = self.stop_asked or any(n in STOP_SIGNALS for n in numbers)


@contextmanager
def _woken_by_signals() -> Iterator[Wake]:
    """Python writes the number of each signal into the pipe, whatever it interrupts."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (*STOP_SIGNALS, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    yield Wake(reader)


@contextmanager
def _sole(folder: Path) -> Iterator[IO[str]]:
    """The note of the only parent in this folder; the lock on it goes with the process."""
    with (folder / "up.lock").open("a+") as note:
        try:
            fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunningError(
                f"Already running, as process {orphans.parent_noted(note)}; `make stop` ends it."
            ) from None
        yield note


def refuse_if_running(folder: Path) -> None:
    """Raises `AlreadyRunningError` if a parent runs here now."""
    with _sole(folder):
        pass


def stop(folder: Path) -> bool:
    """End the parent that runs in `folder` and wait for it; false if none runs.

    Raises:
        TimeoutError: it did not end in time.
    """
    if not (folder / "up.lock").exists():
        return False
    give_up = time.monotonic() + STOP_LIMIT_S + 5
    told = False
    while time.monotonic() < give_up:
        try:
            refuse_if_running(folder)
        except AlreadyRunningError:
            told = told or _tell_parent(folder)
            time.sleep(PAUSE_S)
        else:
            return told
    raise TimeoutError(f"what runs in {folder} did not end within {STOP_LIMIT_S:.0f} s")


def _tell_parent(folder: Path) -> bool:
    with (folder / "up.lock").open() as note, suppress(ProcessLookupError, ValueError):
        os.kill(int(orphans.parent_noted(note)), signal.SIGTERM)
        return True
    return False


def _say(text: str) -> None:
    sys.stderr.write(f"counterfoil: {text}\n")
    sys.stderr.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m config.supervisor")
    actions = parser.add_subparsers(dest="action", required=True)
    run = actions.add_parser("run")
    run.add_argument("folder", type=Path)
    run.add_argument("programs", type=_programs, help="JSON: a list of {name, command, pass_fds}")
    end = actions.add_parser("stop")
    end.add_argument("folders", type=Path, nargs="*")
    given = parser.parse_args()
    try:
        if given.action == "run":
            supervise(given.folder, given.programs)
        else:
            _stop_all(given.folders)
    except (AlreadyRunningError, TimeoutError) as error:
        _say(str(error))
        return 2 if isinstance(error, AlreadyRunningError) else 1
    return 0


def _programs(text: str) -> list[Program]:
    listed: list[dict[str, Any]] = json.loads(text)
    return [Program(**one) for one in listed]


def _stop_all(folders: Sequence[Path]) -> None:
    for folder in folders:
        if stop(folder):
            sys.stdout.write(f"{folder}: console, worker and watch stopped\n")


if __name__ == "__main__":
    sys.exit(main())
