"""The processes of a run, and a supervisor that starts again whatever has ended."""

import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.embedded.processes import PROJECT

PAUSE_S = 0.3  # before an ended one is started again
# How a process ends that was told to, or that never got to work: no database, as it says.
ORDERLY = frozenset({0, 2, 3})


@dataclass(slots=True)
class Member:
    """One role that a process fills, and the one that fills it now."""

    name: str
    command: Sequence[str]
    env: Mapping[str, str]
    log: Path
    process: subprocess.Popen[bytes] | None = None
    starts: int = 0
    again_at: float = 0.0
    struck: bool = False  # its present process was killed here
    told: bool = False  # or was told to end
    frozen_since: float | None = None
    # Process number, and from when until when it was frozen, on the wall clock.
    freezes: list[tuple[int, float, float]] = field(default_factory=list)

    @property
    def is_worker(self) -> bool:
        return self.name.startswith("worker")

    def start(self) -> None:
        # Opened to append: a killed one's successor writes behind it.
        with self.log.open("ab") as file:
            self.process = subprocess.Popen(
                self.command,
                cwd=PROJECT,
                env=dict(self.env),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self.starts += 1
        self.struck, self.told, self.frozen_since = False, False, None

    def tell(self, number: signal.Signals) -> bool:
        """Whether there was a process to tell."""
        if self.process is None or self.process.poll() is not None:
            return False
        os.killpg(self.process.pid, number)
        self.struck = self.struck or number == signal.SIGKILL
        self.told = self.told or number == signal.SIGTERM
        if number == signal.SIGSTOP:
            self.frozen_since = self.frozen_since or time.time()
        elif number == signal.SIGCONT and self.frozen_since is not None:
            self.freezes.append((self.process.pid, self.frozen_since, time.time()))
            self.frozen_since = None
        return True

    def said(self, text: str) -> int:
        """How often it wrote this."""
        return self.log.read_text(errors="replace").count(text) if self.log.exists() else 0

    def catches(self, number: signal.Signals) -> bool:
        """Whether its process has a handler for this; at its begin and its end it has none."""
        if self.process is None or self.told or self.process.poll() is not None:
            return False
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        caught = re.search(r"SigCgt:\t([0-9a-f]+)", status)
        return caught is not None and bool(int(caught[1], 16) >> (number - 1) & 1)


@dataclass(slots=True)
class Crew:
    """All of them. `ended`: processes that ended as nobody told them to, by how."""

    members: list[Member] = field(default_factory=list)
    ended: Counter[str] = field(default_factory=Counter)
    winding_up: bool = False

    def add(self, name: str, command: Sequence[str], env: Mapping[str, str], folder: Path) -> None:
        member = Member(name, command, env, folder / f"{name}.log")
        member.start()
        self.members.append(member)

    @property
    def workers(self) -> list[Member]:
        return [one for one in self.members if one.is_worker]

    @property
    def agents(self) -> list[Member]:
        return [one for one in self.members if not one.is_worker]

    def keep(self) -> None:
        """Note what has ended, and start it again after a pause; an agent only if work is left."""
        for member in self.members:
            if member.process is None:
                if time.monotonic() >= member.again_at:
                    member.start()
            elif (code := member.process.poll()) is not None:
                self._note_end(member, code)

    def _note_end(self, member: Member, code: int) -> None:
        # Told so early that it had no handler yet, it ends by the signal itself.
        orderly = ORDERLY | ({-signal.SIGTERM} if member.told else set())
        if member.is_worker and not member.struck and code not in orderly:
            self.ended[f"{member.name} ended with {code}"] += 1
        if not member.is_worker and self.winding_up and code == 0:
            member.again_at = float("inf")
        else:
            member.again_at = time.monotonic() + PAUSE_S
        member.process = None

    @property
    def agents_are_done(self) -> bool:
        return all(one.again_at == float("inf") for one in self.agents)

    def resume(self) -> None:
        """Nobody is frozen any more."""
        for member in self.members:
            if member.frozen_since is not None:
                member.tell(signal.SIGCONT)

    def stop(self) -> None:
        """SIGKILL whatever is left."""
        for member in self.members:
            if member.tell(signal.SIGKILL) and member.process is not None:
                member.process.wait(10)

    def logged(self, pattern: bytes) -> Counter[str]:
        """How often each kind of process wrote what matches."""
        counts: Counter[str] = Counter()
        for member in self.members:
            if member.log.exists():
                counts[member.name] += len(re.findall(pattern, member.log.read_bytes()))
        return counts
