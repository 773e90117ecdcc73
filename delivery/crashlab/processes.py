"""The client of the warm parent: start children, wait for what becomes of them, kill them."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

from django.conf import settings

from delivery.crashlab.parent import ERROR, LOG, RESULT
from delivery.crashlab.points import POINTS, points_of

LIMIT_S = 30.0
PARENT = "delivery.crashlab.parent"


class ChildError(Exception):
    """A child did not do what the drill needs it to do."""


@dataclass(slots=True)
class Child:
    """One forked process. `ended`: its exit code, or minus the signal that ended it."""

    pid: int
    folder: Path
    parent: "WarmParent"
    ended: int | None = None
    stops: int = 0
    _seen: int = field(default=0)

    @property
    def points(self) -> list[str]:
        """The names it noted before it died, was stopped or raised there."""
        return points_of(self.folder / POINTS)

    @property
    def killed(self) -> bool:
        return self.ended == -signal.SIGKILL

    def kill(self) -> Self:
        """SIGKILL, and wait for its end."""
        if self.ended is None:
            os.kill(self.pid, signal.SIGKILL)
        return self.wait()

    def terminate(self) -> None:
        """SIGTERM: finish what is on the wire and hand back the rest."""
        os.kill(self.pid, signal.SIGTERM)

    def resume(self) -> None:
        """Let a stopped one go on."""
        os.kill(self.pid, signal.SIGCONT)

    def wait(self) -> Self:
        """Wait for its end, whatever it is."""
        self.parent.listen_until(lambda: self.ended is not None, f"child {self.pid} ends")
        return self

    def wait_stopped(self) -> str:
        """Wait until it has stopped itself once more; the name of the point."""
        self._seen += 1
        self.parent.listen_until(
            lambda: self.stops >= self._seen or self.ended is not None, "it stops"
        )
        if self.ended is not None:
            raise ChildError(f"it ended ({self.ended}) instead of stopping: {self.log}")
        return self.points[-1]

    def wait_killed(self) -> str:
        """Wait until SIGKILL has ended it; the name of the point, "" if somebody else killed it."""
        self.wait()
        if not self.killed:
            raise ChildError(f"it ended with {self.ended}, not by SIGKILL: {self.log}")
        return self.points[-1] if self.points else ""

    def answer(self) -> Any:
        """Wait for its end; what its task returned."""
        self.wait()
        if self.ended != 0:
            raise ChildError(f"it ended with {self.ended}: {self.log}")
        return json.loads((self.folder / RESULT).read_text())

    @property
    def log(self) -> str:
        """What it printed and how it failed."""
        files = (self.folder / LOG, self.folder / ERROR)
        return "\n".join(file.read_text() for file in files if file.exists())


class WarmParent:
    """A parent process that was started here; its children are reached through it alone."""

    def __init__(self, *preloaded: str) -> None:
        """Start it. `preloaded`: modules of tasks that it loads besides the laboratory's own."""
        ours, theirs = socket.socketpair()
        self._scratch = TemporaryDirectory(prefix="crashlab-")
        self._children: dict[int, Child] = {}
        self._count = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", PARENT, str(theirs.fileno()), *preloaded],
            cwd=settings.BASE_DIR,
            env={**os.environ, "DJANGO_SETTINGS_MODULE": settings.SETTINGS_MODULE},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
        theirs.close()
        self._socket = ours
        ours.settimeout(LIMIT_S)
        self._reports = ours.makefile("r", encoding="utf-8")

    @property
    def pid(self) -> int:
        return self._process.pid

    def fork(self, task: str, **arguments: Any) -> Child:
        """Start a child.

        Args:
            task: `module:function`; it gets `folder`, a place of its own, and the arguments.
            arguments: JSON values.
        """
        self._count += 1
        folder = Path(self._scratch.name) / str(self._count)
        folder.mkdir()
        order = {"task": task, "folder": str(folder), "arguments": arguments}
        self._socket.sendall(json.dumps(order).encode() + b"\n")
        while True:
            said = self._hear()
            if set(said) == {"pid"}:
                child = self._children[said["pid"]] = Child(said["pid"], folder, self)
                return child

    def listen_until(self, enough: Callable[[], bool], claim: str) -> None:
        """Take reports of children until `enough()` is true.

        Raises:
            ChildError: nothing was reported for 30 s.
        """
        while not enough():
            try:
                self._hear()
            except TimeoutError:
                raise ChildError(f"never: {claim}") from None

    def _hear(self) -> dict[str, Any]:
        line = self._reports.readline()
        if not line:
            raise ChildError(f"the warm parent has ended with {self._process.wait(LIMIT_S)}")
        said: dict[str, Any] = json.loads(line)
        child = self._children.get(said["pid"])
        if child is not None and "ended" in said:
            child.ended = said["ended"]
            del self._children[child.pid]
        elif child is not None:
            child.stops += 1
        return said

    def stop(self) -> None:
        """End the parent and every child that is left."""
        for child in list(self._children.values()):
            with suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGKILL)
        self._reports.close()
        self._socket.close()
        self._process.wait(LIMIT_S)
        self._scratch.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
