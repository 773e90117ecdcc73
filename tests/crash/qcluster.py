"""A q cluster in a session of its own, read through its log."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.embedded.processes import PROJECT, until


@dataclass(slots=True)
class Cluster:
    """One `manage.py qcluster`. Its log grows in `log`."""

    log: Path
    process: subprocess.Popen[bytes]
    _killed: set[int] = field(default_factory=set)

    @classmethod
    def start(cls, log: Path) -> Self:
        """Start it, and wait until both its workers say that they are ready."""
        # Opened to append: several processes write to it, and none over another's line.
        with log.open("ab") as file:
            process = subprocess.Popen(
                [sys.executable, "manage.py", "qcluster"],
                cwd=PROJECT,
                env={**os.environ, "COUNTERFOIL_QCLUSTER": "1"},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        cluster = cls(log, process)
        try:
            until(cluster._is_ready, "both workers are ready")
        except AssertionError as error:
            cluster.end()
            raise AssertionError(f"{error}: {log.read_text()}") from None
        return cluster

    def _is_ready(self) -> bool:
        assert self.process.poll() is None, "it ended"
        return len(self.workers) == 2

    @property
    def workers(self) -> list[int]:
        """The process numbers of the workers that are ready and were not killed here."""
        said = re.findall(r"ready for work at (\d+)", self.log.read_text())
        return [int(pid) for pid in said if int(pid) not in self._killed]

    def kill_worker(self, pid: int) -> None:
        """SIGKILL one of its workers, and wait until the sentinel has started another."""
        self._killed.add(pid)
        os.kill(pid, signal.SIGKILL)
        until(self._is_ready, "the sentinel started another")

    def kill_main(self) -> None:
        """SIGKILL the main process alone; what it started lives on without it."""
        self.process.kill()
        self.process.wait(10)

    def end(self) -> None:
        """SIGKILL the whole session, orphans included."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)


def alive(pid: int) -> bool:
    """Whether this process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
