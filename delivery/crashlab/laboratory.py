"""Where drills take place: a channel for testing, a scene on it, and the row that comes of it."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from delivery.crashlab.counting import Asked, Simulated
from delivery.crashlab.drills import CLASSICAL, Boundary, Terms
from delivery.crashlab.later import LATER
from delivery.crashlab.processes import ChildError, WarmParent
from delivery.crashlab.report import Row
from delivery.crashlab.scene import Scene, Tally
from delivery.simulator.client import Simulator
from ledgers.models import Channel, Credential

BOUNDARIES = CLASSICAL + LATER


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things last on a laboratory's channel, in seconds."""

    lease_s: float = 1.2
    deadline_s: float = 0.5
    margin_s: float = 0.1


@dataclass(frozen=True, slots=True)
class Laboratory:
    """Runs drills against a simulated recipient, on channels of its own.

    `pass_s`, `worker_task`: see `Scene`.
    """

    parent: WarmParent
    simulator: Simulator
    pass_s: Callable[[float], None]
    pace: Pace = Pace()
    worker_task: str = "delivery.crashlab.tasks:work"

    def run(self, boundary: Boundary) -> Row:
        """Run one drill and check what it must come to."""
        scene = self.scene(boundary.terms, boundary.destinations, boundary.name)
        tally = _held(boundary, scene)
        return _row(boundary, tally, (*tally.broken, *_unkept(boundary, scene, tally)))

    def scene(
        self,
        terms: Terms = Terms(),  # noqa: B008  frozen
        count: int = 1,
        name: str = "scene",
    ) -> Scene:
        """A scene with `count` destinations, on the channel of this name."""
        token = secrets.token_hex(4)
        to = tuple(f"room:{token}-{number}" for number in range(1, count + 1))
        for room in to:
            self.simulator.behave(room, dedupe_s=terms.window_leases * self.pace.lease_s)
        return Scene(
            parent=self.parent,
            recipient=Simulated(self.simulator),
            simulator=self.simulator,
            channel=self._channel(f"crashlab-{name}", terms),
            pass_s=self.pass_s,
            to=to,
            worker_task=self.worker_task,
        )

    def _channel(self, slug: str, terms: Terms) -> Channel:
        credential, _ = Credential.objects.get_or_create(
            name="crashlab", defaults={"destination_rules": ["room:*"]}
        )
        fields = {
            "adapter": "simulator",
            "credential": credential,
            "settings": self._settings(terms),
            "lease_s": self.pace.lease_s,
            "deadline_s": self.pace.deadline_s,
            "margin_s": self.pace.margin_s,
            "retry_schedule": [0],
            "look_up_schedule": [0] if terms.look_ups else [],
            "resend_after_absent": "automatic" if terms.resend_after_absent else "ask",
            "for_testing": True,
        }
        return Channel.objects.update_or_create(slug=slug, defaults=fields)[0]

    def _settings(self, terms: Terms) -> dict[str, object]:
        looks = dict.fromkeys(("look_up_by_key", "look_up_by_id", "scan"), terms.look_ups)
        return {
            "url": self.simulator.url,
            "dedupe_window_s": terms.window_leases * self.pace.lease_s,
            "part_limit": terms.part_limit,
            **looks,
        }


@dataclass(frozen=True, slots=True)
class ForeignLaboratory:
    """Runs drills through somebody's channel that is marked for testing.

    Its provider's promises are its own, so only the invariants are checked; and what arrived is
    asked of the recipient, as reconciliation asks it.
    """

    parent: WarmParent
    channel: Channel
    to: tuple[str, ...]
    pass_s: Callable[[float], None]

    def run(self, boundary: Boundary) -> Row:
        """Run one drill that needs no simulated recipient."""
        scene = Scene(
            parent=self.parent,
            recipient=Asked(),
            simulator=None,
            channel=self.channel,
            pass_s=self.pass_s,
            to=self.to,
        )
        tally = _held(boundary, scene)
        return _row(boundary, tally, tally.broken)


def chosen(name: str | None, *, simulated: bool) -> tuple[Boundary, ...]:
    """The boundaries of this name, or all; with a foreign channel each drill once."""
    named = tuple(one for one in BOUNDARIES if name in {None, one.name})
    if simulated:
        return named
    possible = {
        one.drill: one for one in reversed(named) if not one.simulator_only and not one.terms.parts
    }
    return tuple(one for one in named if possible.get(one.drill) == one)


def _held(boundary: Boundary, scene: Scene) -> Tally:
    """Hold a drill and count. One that breaks off has shown nothing, and says so."""
    try:
        boundary.drill(scene)
        scene.leave_open()
    except ChildError as error:
        scene.complaints.append(f"the drill broke off: {error}")
    return scene.tally()


def _unkept(boundary: Boundary, scene: Scene, tally: Tally) -> list[str]:
    """What the boundary promises beyond the invariants, and did not keep."""
    count = len(scene.deliveries)
    return [
        f"not so: {claim}"
        for holds, claim in (
            (set(tally.statuses) == {boundary.ends}, f"all of it ends {boundary.ends}"),
            (tally.effects == boundary.effects * count, f"{boundary.effects} effects each"),
            (tally.attempts == boundary.attempts * count, f"{boundary.attempts} attempts each"),
        )
        if not holds
    ]


def _row(boundary: Boundary, tally: Tally, broken: tuple[str, ...]) -> Row:
    return Row(
        number=boundary.number,
        name=boundary.name,
        kills=tally.kills,
        attempts=tally.attempts,
        effects=tally.effects,
        ended=", ".join(sorted(tally.statuses)),
        broken=broken,
    )
