"""One program that a parent keeps running: started, looked at, told to stop, buried."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from config import orphans

FIRST_BACKOFF_S = 0.2
LONGEST_BACKOFF_S = 5.0
# Who lived this long had started well: the next start is not delayed for its predecessors.
SETTLED_S = 10.0
# How often a parent looks even if no signal came.
LOOK_S = 1.0
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Program:
    """What is to be kept running; `pass_fds` are descriptors it inherits, such as a socket."""

    name: str
    command: list[str]
    pass_fds: list[int] = field(default_factory=list)


class Child:
    """A program and its present process, if any."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0
        self._next_start_at = 0.0
        self._backoff_s = FIRST_BACKOFF_S

    @property
    def pid(self) -> int:
        """The process number of the present or last process; 0 before the first."""
        return self._process.pid if self._process else 0

    def alive(self) -> bool:
        """Looks without reaping: as long as the dead leader is not reaped, its number, and so the
        number of its group, cannot be given to anybody else.
        """
        if self._process is None or self._process.returncode is not None:
            return False
        if not hasattr(os, "waitid"):  # macOS before 3.13  # pragma: no cover
            return self._process.poll() is None
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, options) is None

    def revive(self) -> bool:
        """Start it unless it lives or its back-off is not over; true if it was started.

        Any exit is followed by a start, 0 too: some programs end with 0 when their inner process
        was killed.
        """
        if self.alive():
            return False
        if self._process is not None and self._process.returncode is None:
            self._note_death()
        if time.monotonic() < self._next_start_at:
            return False
        self._process = subprocess.Popen(
            self.program.command,
            stdin=subprocess.DEVNULL,
            pass_fds=self.program.pass_fds,
            start_new_session=True,
            preexec_fn=die_with(os.getpid()),  # noqa: PLW1509  this parent has one thread
        )
        self._started_at = time.monotonic()
        return True

    def pause_s(self) -> float:
        """How long the parent may sleep on account of this child, in seconds."""
        if self.alive():
            return LOOK_S
        return min(LOOK_S, max(0.0, self._next_start_at - time.monotonic()))

    def tell(self, number: signal.Signals) -> None:
        """A signal to the leader alone."""
        if self.alive():
            os.kill(self.pid, number)

    def bury(self) -> int:
        """Kill what is left of its group and reap the leader; its exit code."""
        if self._process is None:
            return 0
        if self._process.returncode is None:
            if self.alive():
                self._process.kill()
            orphans.kill_group(self._process.pid)
        return self._process.wait()

    def _note_death(self) -> None:
        code = self.bury()
        now = time.monotonic()
        if now - self._started_at >= SETTLED_S:
            self._backoff_s = FIRST_BACKOFF_S
        self._next_start_at = now + self._backoff_s
        sys.stderr.write(
            f"counterfoil: {self.program.name} ended with {code},"
            f" starting again in {self._backoff_s:.1f} s\n"
        )
        self._backoff_s = min(2 * self._backoff_s, LONGEST_BACKOFF_S)


def die_with(parent: int) -> Callable[[], None] | None:
    """Asks the kernel, in the new process, for a SIGTERM when `parent` dies. Linux only."""
    if not sys.platform.startswith("linux"):  # pragma: no cover
        return None
    libc = ctypes.CDLL(None)

    def ask() -> None:  # pragma: no cover  runs between fork and exec
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it died before we asked
            os.kill(os.getpid(), signal.SIGTERM)

    return ask
