"""Where drills take place: a channel for testing, a scene on it, and the row that comes of it."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from delivery.crashlab.drills import Boundary, Terms
from delivery.crashlab.processes import WarmParent
from delivery.crashlab.report import Row
from delivery.crashlab.scene import Scene, Tally
from delivery.simulator.client import Simulator
from ledgers.models import Channel, Credential


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things last on a laboratory's channel, in seconds."""

    lease_s: float = 1.2
    deadline_s: float = 0.5
    margin_s: float = 0.1


@dataclass(frozen=True, slots=True)
class Laboratory:
    """Runs drills against a simulated recipient, each with its own channel.

    `pass_s`, `worker_task`: see `Scene`.
    """

    parent: WarmParent
    recipient: Simulator
    pass_s: Callable[[float], None]
    pace: Pace = Pace()
    worker_task: str = "delivery.crashlab.tasks:work"

    def run(self, boundary: Boundary) -> Row:
        """Run one drill and check what it must come to."""
        scene = self.scene(boundary.terms, boundary.destinations)
        boundary.drill(scene)
        return row_of(boundary, scene, scene.tally())

    def scene(self, terms: Terms = Terms(), count: int = 1) -> Scene:  # noqa: B008  frozen
        """A scene with `count` destinations."""
        token = secrets.token_hex(4)
        to = tuple(f"room:{token}-{number}" for number in range(1, count + 1))
        for room in to:
            self.recipient.behave(room, dedupe_s=terms.window_leases * self.pace.lease_s)
        return Scene(
            parent=self.parent,
            recipient=self.recipient,
            channel=self._channel(token, terms),
            pass_s=self.pass_s,
            to=to,
            worker_task=self.worker_task,
        )

    def _channel(self, token: str, terms: Terms) -> Channel:
        credential, _ = Credential.objects.get_or_create(
            name="crashlab", defaults={"destination_rules": ["room:*"]}
        )
        return Channel.objects.create(
            slug=f"crashlab-{token}",
            adapter="simulator",
            credential=credential,
            settings=self._settings(terms),
            lease_s=self.pace.lease_s,
            deadline_s=self.pace.deadline_s,
            margin_s=self.pace.margin_s,
            retry_schedule=[0],
            look_up_schedule=[0] if terms.look_ups else [],
            resend_after_absent="automatic" if terms.resend_after_absent else "ask",
            for_testing=True,
        )

    def _settings(self, terms: Terms) -> dict[str, object]:
        looks = dict.fromkeys(("look_up_by_key", "look_up_by_id", "scan"), terms.look_ups)
        return {
            "url": self.recipient.url,
            "dedupe_window_s": terms.window_leases * self.pace.lease_s,
            "part_limit": terms.part_limit,
            **looks,
        }


def row_of(boundary: Boundary, scene: Scene, tally: Tally) -> Row:
    """The drill's row; what the boundary promises beyond the invariants is checked here."""
    count = len(scene.deliveries)
    wrong = [
        claim
        for holds, claim in (
            (set(tally.statuses) == {boundary.ends}, f"all of it ends {boundary.ends}"),
            (tally.effects == boundary.effects * count, f"{boundary.effects} effects each"),
            (tally.attempts == boundary.attempts * count, f"{boundary.attempts} attempts each"),
        )
        if not holds
    ]
    return Row(
        boundary.number,
        boundary.name,
        tally.kills,
        tally.attempts,
        tally.effects,
        ", ".join(sorted(tally.statuses)),
        (*tally.broken, *(f"not so: {claim}" for claim in wrong)),
    )
