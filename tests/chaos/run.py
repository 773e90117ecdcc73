"""One run: strike for a while, let everything come to rest, account for it."""

import heapq
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

import psycopg

from tests.chaos.account import Account, account, open_rows
from tests.chaos.agent import ENOUGH
from tests.chaos.faults import BY_NAME, LANES, Stage
from tests.chaos.plan import Strike, schedule
from tests.ground.crew import Crew
from tests.ground.scene import Scene

WORKERS = 3
AGENTS = {"ada": 1, "bob": 2}  # how many processes do the same work at once
SETTLE_S = 90.0  # within which all must come to rest once the faults have ended
END_S = 40.0  # within which a worker that was told to must have ended
TICK_S = 0.02


@dataclass(slots=True)
class Outcome:
    """What a run came to. `done`: faults by name. `undone`: those that found no victim."""

    seed: int
    account: Account
    done: Counter[str]
    undone: Counter[str]
    crew: Crew
    settled_s: float


@dataclass(slots=True)
class Runner:
    """Drives one run over an open scene."""

    scene: Scene
    seed: int
    seconds: float
    crew: Crew = field(default_factory=Crew)
    done: Counter[str] = field(default_factory=Counter)
    undone: Counter[str] = field(default_factory=Counter)

    def run(self) -> Outcome:
        """All of it, with the processes gone afterwards."""
        self._muster()
        try:
            self._strike()
            settled_s = self._settle()
            self._end_workers()
        finally:
            self.crew.stop()
        progress = {name: self._progress(name) for name in AGENTS}
        arrived = self.scene.recipient.last_submissions(last=10_000_000)
        found = account(self.seed, progress, arrived, self.crew.workers)
        found.claim(self.crew.ended, "no worker ends by itself")
        if settled_s > SETTLE_S:
            found.claim([f"{open_rows()} rows open"], f"all comes to rest within {SETTLE_S:.0f} s")
        return Outcome(self.seed, found, self.done, self.undone, self.crew, settled_s)

    # Processes

    def _muster(self) -> None:
        env, folder = self.scene.environment, self.scene.folder
        for number in range(1, WORKERS + 1):
            command = [
                sys.executable,
                "-m",
                "tests.ground.clocked",
                "deliver",
                "--concurrency",
                "8",
            ]
            self.crew.add(f"worker-{number}", command, env, folder)
        for name, count in AGENTS.items():
            for twin in range(1, count + 1):
                mark = str(folder / f"{name}-{twin}.at")
                command = [sys.executable, "-m", "tests.chaos.agent", str(self.seed), name, mark]
                self.crew.add(f"agent-{name}-{twin}", command, env, folder)

    def _progress(self, name: str) -> int:
        marks = self.scene.folder.glob(f"{name}-*.at")
        return max((int(mark.read_text()) for mark in marks), default=-1)

    # Faults

    def _strike(self) -> None:
        strikes = schedule(
            self.seed, self.seconds, [[(f.__name__, s) for f, s in lane] for lane in LANES]
        )
        stage = Stage(self.scene, self.crew)
        began = time.monotonic()
        # What comes next: (when, order, what). A fault's end is put in when it has begun.
        coming: list[tuple[float, int, Strike | tuple[str, Iterator[None]]]] = [
            (one.at, number, one) for number, one in enumerate(strikes)
        ]
        heapq.heapify(coming)
        while coming:
            while time.monotonic() - began < coming[0][0]:
                self.crew.keep()
                time.sleep(TICK_S)
            _, number, what = heapq.heappop(coming)
            if isinstance(what, Strike):
                doing = BY_NAME[what.fault](stage, Random(what.choice))
                if self._go_on(what.fault, doing):
                    self.done[what.fault] += 1
                    heapq.heappush(coming, (what.until, number, (what.fault, doing)))
            else:
                self._go_on(*what)

    def _go_on(self, fault: str, doing: Iterator[None]) -> bool:
        """Begin or end a fault; whether there is more of it to come."""
        try:
            next(doing, None)
        except psycopg.OperationalError:
            # The server has not recovered yet from the last one.
            self.undone[fault] += 1
            return False
        return True

    # Afterwards

    def _settle(self) -> float:
        """Seconds until everything was at rest, after every fault has ended."""
        self.scene.heal()
        self.crew.resume()
        began = time.monotonic()
        (self.scene.folder / ENOUGH).touch()
        self.crew.winding_up = True
        while not (self.crew.agents_are_done and open_rows() == 0):
            if time.monotonic() - began > SETTLE_S:
                break
            self.crew.keep()
            time.sleep(0.2)
        return time.monotonic() - began

    def _end_workers(self) -> None:
        """Told to end, each does, and well."""
        told = [one for one in self.crew.workers if one.tell(signal.SIGTERM)]
        give_up = time.monotonic() + END_S
        while any(one.process and one.process.poll() is None for one in told):
            if time.monotonic() > give_up:
                break
            time.sleep(TICK_S)
        for one in told:
            code = one.process.poll() if one.process else None
            if code not in {0, -signal.SIGTERM}:
                self.crew.ended[f"{one.name}, told to end, came to {code}"] += 1
