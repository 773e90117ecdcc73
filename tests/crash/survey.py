"""Act at the points of one stretch of the path, one after the other, and count what comes of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from delivery.crashlab.drills import Terms
from delivery.crashlab.laboratory import Laboratory
from delivery.crashlab.processes import Child
from delivery.crashlab.scene import Scene
from delivery.crashlab.tasks import record
from ledgers import verify
from ledgers.models import Credential
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
    """A part of the path. `prepare`: brings a scene to its beginning; `more`: for its task."""

    name: str
    task: str
    prepare: Callable[[Scene], None]
    more: Mapping[str, Any] = field(default_factory=dict)


def _as_it_is(scene: Scene) -> None:
    del scene


def _recorded(scene: Scene) -> None:
    record(Path(), **scene.work())


def make_unknown(scene: Scene) -> None:
    """Everything was accepted, no answer came, and it is time to search."""
    for to in scene.to:
        scene.simulated.behave(to, "accept_and_reset")
    record(Path(), **scene.work())
    scene.worker().answer()
    scene.outlive_leases()


RECORD = Stretch("record", "tests.crash.tasks:walk_agent", _as_it_is)
SUBMIT = Stretch("submit", "tests.crash.tasks:walk_worker", _recorded)
RECONCILE = Stretch("reconcile", "tests.crash.tasks:walk_worker", make_unknown)


@dataclass(slots=True)
class Found:
    """What it came to. `twice`: points at which a destination was acted on twice."""

    stretch: str
    mode: str
    provider: str
    points: int = 0
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

    def take(self, share: slice) -> Found:
        """Act at these of the stretch's points."""
        points = list(enumerate(self._dry_walk(), start=1))
        for number, name in points[share]:
            self._act_at(number, name)
        return self.found

    def _dry_walk(self) -> list[str]:
        passed: list[str] = self._walk(self._scene(), 0).answer()
        return passed

    def _scene(self) -> Scene:
        scene = self.laboratory.scene(self.provider.terms, COUNT)
        self.stretch.prepare(scene)
        # Each walk is the credential's first use, which is part of the path.
        Credential.objects.update(fingerprint="")
        return scene

    def _walk(self, scene: Scene, number: int) -> Child:
        task, more = self.stretch.task, self.stretch.more
        return scene.parent.fork(task, mode=self.mode, number=number, run=scene.work(), **more)

    def _act_at(self, number: int, name: str) -> None:
        scene = self._scene()
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
        """Clean processes do again what was to be done; whether all came to rest."""
        return recover(scene)

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


def recover(scene: Scene) -> bool:
    """An agent and workers come back, as often as it takes; whether all came to rest."""
    channel = scene.channel
    rested: bool = scene.parent.fork(
        "tests.crash.tasks:recover",
        run=scene.work(),
        outlive_s=channel.lease_s + channel.deadline_s + channel.margin_s,
    ).answer()
    return rested
