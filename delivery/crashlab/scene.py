"""The scene of one drill: a run, its destinations, a channel, a recipient that counts."""

import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from delivery.crashlab.counting import Recipient, Seen
from delivery.crashlab.processes import Child, WarmParent
from delivery.simulator.client import Simulator
from ledgers import moves, rulings, verify
from ledgers.models import Channel, Delivery, OutboxItem
from ledgers.states import NOT_SENT, DeliveryStatus

OPEN = (DeliveryStatus.PENDING, DeliveryStatus.UNKNOWN)
LEFT_BECAUSE = "crash drill: this is what it was held for"
ROUNDS = 8  # leases that a drill outlives until everything must be at rest


@dataclass(frozen=True, slots=True)
class Tally:
    """What a drill came to."""

    kills: int
    attempts: int
    effects: int
    statuses: Mapping[str, int]
    broken: tuple[str, ...]


@dataclass(slots=True)
class Scene:
    """One drill's own corner of the ledger.

    `pass_s`: lets so many seconds pass, by waiting or otherwise. `worker_task`: what a worker does.
    `forgotten`: submissions that the ledger cannot know of.
    """

    parent: WarmParent
    recipient: Recipient
    simulator: Simulator | None
    channel: Channel
    pass_s: Callable[[float], None]
    to: tuple[str, ...]
    text: str = "a drill of the crash laboratory"
    run_id: str = field(default_factory=lambda: f"crashlab-{secrets.token_hex(6)}")
    worker_task: str = "delivery.crashlab.tasks:work"
    kills: int = 0
    forgotten: int = 0
    complaints: list[str] = field(default_factory=list)

    # Processes

    def agent(self, *, to: tuple[str, ...] | None = None, **more: Any) -> Child:
        """An agent that records the run's one message."""
        return self.parent.fork("delivery.crashlab.tasks:record", **self.work(to), **more)

    def work(self, to: tuple[str, ...] | None = None) -> dict[str, Any]:
        """What an agent has to do in this scene, as arguments of `tasks.record`."""
        message = {"channel": self.channel.slug, "to": to or self.to, "content": self.text}
        return {"run_id": self.run_id, "message": message, "lease_s": self.channel.lease_s}

    def worker(self, **more: Any) -> Child:
        """A worker on this scene's channel."""
        return self.parent.fork(self.worker_task, channel=self.channel.pk, **more)

    def kill_agent_at(self, point: str, **more: Any) -> None:
        """Let an agent kill itself at this point."""
        self._killed_at(point, self.agent(armed={"at": point, "do": "kill"}, **more))

    def kill_worker_at(self, point: str, **more: Any) -> None:
        """Let a worker kill itself at this point."""
        self._killed_at(point, self.worker(armed={"at": point, "do": "kill"}, **more))

    def _killed_at(self, point: str, child: Child) -> None:
        self.check(child.wait_killed() == point, f"it died at {point}, and its name is on file")
        self.kills += 1

    def kill(self, child: Child) -> None:
        """SIGKILL a child from outside."""
        child.kill()
        self.kills += 1

    # Time

    def outlive_leases(self) -> None:
        """Let whatever a dead process holds become free again."""
        self.pass_s(self.channel.lease_s + self.channel.deadline_s + self.channel.margin_s)

    def restart(self) -> None:
        """Agent and worker come back in new processes, until everything is at rest."""
        self.outlive_leases()
        self.agent().answer()
        self.come_to_rest()

    def come_to_rest(self) -> None:
        """Let new workers work until a machine has nothing left to do."""
        for _ in range(ROUNDS):
            self.worker().answer()
            if not OutboxItem.objects.filter(delivery__in=self.deliveries).exists():
                return
            self.outlive_leases()
        self.complaints.append("a machine still has something to do")

    def leave_open(self) -> None:
        """Decide about what no machine can finish: a drill's doubt is to page and to ask nobody."""
        still_open = [row.pk for row in self.deliveries if row.status in OPEN]
        if not still_open:
            return
        with transaction.atomic():
            held = moves.hold(still_open)
            versions = {row.id: row.version for row in held.values()}
            rulings.decide(versions, "leave", rulings.By("crashlab", {"reason": LEFT_BECAUSE}))
        self.worker().answer()

    # What it came to

    @property
    def simulated(self) -> Simulator:
        """The simulated recipient, for a drill that cannot do without one."""
        if self.simulator is None:
            raise TypeError("this drill needs a simulated recipient")
        return self.simulator

    def check(self, holds: bool, claim: str) -> None:  # noqa: FBT001  reads as a sentence
        """Note a claim that does not hold."""
        if not holds:
            self.complaints.append(f"not so: {claim}")

    @property
    def deliveries(self) -> list[Delivery]:
        return list(Delivery.objects.filter(message__step__run__run_id=self.run_id))

    @property
    def statuses(self) -> dict[str, int]:
        """How many deliveries stand in which status."""
        return dict(Counter(str(row.status) for row in self.deliveries))

    def tally(self) -> Tally:
        """Count, and check everything that must hold whatever was killed."""
        rows = self.deliveries
        seen = [self.recipient.seen(row) for row in rows]
        for row, one in zip(rows, seen, strict=True):
            self.complaints.extend(self._complaints(row, one))
        if len({row.destination for row in rows}) != len(self.to):
            self.complaints.append(f"{len(rows)} identities for {len(self.to)} destinations")
        for verdict in verify.broken(verify.verify()):
            self.complaints.append(f"{verdict.name}: {', '.join(verdict.offenders)}")
        return Tally(
            kills=self.kills,
            attempts=sum(row.attempt_count for row in rows),
            effects=sum(one.effects for one in seen),
            statuses=self.statuses,
            broken=tuple(self.complaints),
        )

    def _complaints(self, row: Delivery, seen: Seen) -> list[str]:
        """What the ledger claims about one delivery, against what the recipient saw of it."""
        delivered = row.status == DeliveryStatus.DELIVERED
        return [
            f"{row.destination}: {claim} ({seen}, {row.attempt_count} attempts, {row.status})"
            for wrong, claim in (
                (not seen.certain, "could not be counted"),
                (seen.effects > 1, "acted on twice"),
                (seen.submissions > row.attempt_count + self.forgotten, "sent without attempt"),
                (row.status in NOT_SENT and seen.effects, "claimed not sent, and acted on"),
                (delivered and seen.certain and not seen.effects, "claimed delivered"),
            )
            if wrong
        ]
