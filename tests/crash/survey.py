"""Act at the points of one stretch of the path, one after the other, and count what comes of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from delivery import lifting
from delivery.crashlab.drills import Terms
from delivery.crashlab.laboratory import Laboratory
from delivery.crashlab.processes import Child
from delivery.crashlab.scene import Scene
from delivery.crashlab.tasks import record
from ledgers import verify
from ledgers.models import Credential, Installation
from tests.crash.share import Share
from tests.crash.track import Mode, free_idle_transactions

COUNT = 3  # destinations, so that a wave is a wave
# Frozen here a sender has passed its last check and not yet written its last byte. When it goes
# on, only the provider can tell that somebody else has sent meanwhile.
RESIDUAL = frozenset({"after-last-check", "phase-writing", "send, before", "send, half"})


@dataclass(frozen=True, slots=True)
class Provider:
    """What the other side promises, in a word for the table."""

    name: str
    terms: Terms


BARE = Provider("no key", Terms())
KEYED = Provider("key", Terms(window_leases=1000))
LOOKED = Provider("look-up, no key", Terms(look_ups=True, resend_after_absent=True))


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the path.

    `prepare`: brings scenes to its beginning, up to `batch` of them at once: more than one only
    where they then rest, whatever a worker does for another. `more`: for its task.
    """

    name: str
    task: str
    prepare: Callable[[Sequence[Scene]], None]
    more: Mapping[str, Any] = field(default_factory=dict)
    batch: int = 1


def _as_it_is(scenes: Sequence[Scene]) -> None:
    del scenes


def _recorded(scenes: Sequence[Scene]) -> None:
    for scene in scenes:
        record(Path(), **scene.work())


def make_unknown(scenes: Sequence[Scene]) -> None:
    """Everything was accepted, no answer came, and it is time to search."""
    for scene in scenes:
        for to in scene.to:
            scene.simulated.behave(to, "accept_and_reset")
        record(Path(), **scene.work())
    scenes[0].worker().answer()
    scenes[0].outlive_leases()


RECORD = Stretch("record", "tests.crash.tasks:walk_agent", _as_it_is)
SUBMIT = Stretch("submit", "tests.crash.tasks:walk_worker", _recorded)
RECONCILE = Stretch("reconcile", "tests.crash.tasks:walk_worker", make_unknown)


@dataclass(slots=True)
class Found:
    """What it came to.

    `left_out`: points that no test of this session acts at. `twice`: points at which a destination
    was acted on twice.
    """

    stretch: str
    mode: str
    provider: str
    points: int = 0
    left_out: int = 0
    attempts: int = 0
    effects: int = 0
    delivered: int = 0
    unknown: int = 0
    twice: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Survey:
    """One stretch in one mode with one provider."""

    laboratory: Laboratory
    stretch: Stretch
    mode: Mode
    provider: Provider
    found: Found = field(init=False)

    def __post_init__(self) -> None:
        self.found = Found(self.stretch.name, self.mode, self.provider.name)

    def take(self, share: Share) -> Found:
        """Act at these of the stretch's points."""
        passed = self._dry_walk()
        wanted = [(n, name) for n, name in enumerate(passed) if share.has(n, name)]
        self._act_at_all([(place + 1, name) for place, name in wanted])
        self.found.left_out = len(passed) - len(wanted) if share.sample else 0
        return self.found

    def _act_at_all(self, points: list[tuple[int, str]]) -> None:
        batch = self.stretch.batch
        for begin in range(0, len(points), batch):
            some = points[begin : begin + batch]
            for (number, name), scene in zip(some, self._scenes(len(some)), strict=True):
                self._act_at(number, name, scene)

    def _dry_walk(self) -> list[str]:
        (scene,) = self._scenes(1)
        passed: list[str] = self._walk(scene, 0).answer()
        return passed

    def _scenes(self, count: int) -> list[Scene]:
        scenes = [self.laboratory.scene(self.provider.terms, COUNT) for _ in range(count)]
        self.stretch.prepare(scenes)
        return scenes

    def _walk(self, scene: Scene, number: int) -> Child:
        # Each walk is the credential's first use, which is part of the path.
        Credential.objects.update(fingerprint="")
        task, more = self.stretch.task, self.stretch.more
        return scene.parent.fork(task, mode=self.mode, number=number, run=scene.work(), **more)

    def _act_at(self, number: int, name: str, scene: Scene) -> None:
        child = self._walk(scene, number)
        if self.mode == Mode.STOP:
            self._overtake(scene, child)
        child.wait()
        self._check(name, child, scene)
        if not self._recover(scene):
            self.found.broken.append(f"{name}: did not come to rest")
        self._count(name, scene)

    def _overtake(self, scene: Scene, child: Child) -> None:
        """It sleeps past its lease, others finish the work, and it goes on where it was."""
        child.wait_stopped()
        free_idle_transactions()
        self._recover(scene)
        child.resume()

    def _recover(self, scene: Scene) -> bool:
        """Clean processes do again what was to be done; whether all came to rest.

        A read that came back empty shows a database that has forgotten something: all is held then,
        until a person lets work go on.
        """
        return recover(scene) or (self._let_go_on() and recover(scene))

    def _let_go_on(self) -> bool:
        row = Installation.objects.get()
        if self.mode != Mode.DROP or not row.restoring:
            return False
        lifting.lift(row.held_at, "nothing was restored: a read was dropped", "laboratory")
        return True

    def _check(self, name: str, child: Child, scene: Scene) -> None:
        """It was this point, it ended as the mode says, and the ledgers hold already now."""
        del scene
        claims = [f"{v.name}: {v.offenders}" for v in verify.broken(verify.verify())]
        if child.points != [name]:
            claims.append(f"passed {child.points}, {child.log[-1000:]}")
        if child.killed != (self.mode == Mode.KILL):
            claims.append(f"ended with {child.ended}")
        self.found.broken += [f"{name}: {claim}" for claim in claims]

    def _count(self, name: str, scene: Scene) -> None:
        tally, found = scene.tally(), self.found
        found.points += 1
        found.attempts += tally.attempts
        found.effects += tally.effects
        found.delivered += tally.statuses.get("delivered", 0)
        found.unknown += tally.statuses.get("unknown", 0)
        for claim in tally.broken:
            (found.twice if "acted on twice" in claim else found.broken).append(f"{name}: {claim}")


def recover(scene: Scene, task: str = "tests.crash.tasks:recover", **more: Any) -> bool:
    """An agent and workers come back, as often as it takes; whether all came to rest.

    `task`: who else comes back before them; `more`: what it has to know.
    """
    channel = scene.channel
    outlive_s = channel.lease_s + channel.deadline_s + channel.margin_s
    rested: bool = scene.parent.fork(task, run=scene.work(), outlive_s=outlive_s, **more).answer()
    return rested
