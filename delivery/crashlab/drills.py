"""The six classical boundaries, each with the kills that a careless outbox does not survive."""

from collections.abc import Callable
from dataclasses import dataclass, field

from delivery import agent
from delivery.crashlab.scene import Scene
from delivery.crashlab.tasks import MESSAGE

Drill = Callable[[Scene], None]


@dataclass(frozen=True, slots=True)
class Terms:
    """What the provider of a drill promises.

    `window_leases`: for how many leases of the channel it honours a key, 0 for none. `look_ups`:
    whether it can be asked. `part_limit`: the most units of text in one message, 0 for no limit.
    """

    window_leases: float = 0.0
    look_ups: bool = False
    resend_after_absent: bool = False
    part_limit: int = 0

    @property
    def parts(self) -> bool:
        return self.part_limit > 0


@dataclass(frozen=True, slots=True)
class Boundary:
    """One named place where a process dies.

    `number`: as in the design's list. `ends`: the status that every delivery must have afterwards.
    `attempts`, `effects`: how many there must be per destination.
    """

    number: int
    name: str
    drill: Drill
    ends: str
    terms: Terms = field(default=Terms())
    attempts: int = 1
    effects: int = 1
    destinations: int = 1
    simulator_only: bool = False


def before_the_result(scene: Scene) -> None:
    scene.kill_agent_at("before-commit")
    scene.check(not scene.deliveries, "nothing was recorded")
    scene.restart()


def result_without_message(scene: Scene) -> None:
    scene.kill_agent_at("recorded", announced=True)
    announced = agent.owed(scene.run_id).announced
    scene.check(announced == (("send", MESSAGE),), "the announced message is seen to be missing")
    scene.outlive_leases()
    scene.agent(announced=True).answer()
    scene.come_to_rest()


def recorded_not_claimed(scene: Scene) -> None:
    scene.kill_agent_at("recorded")
    scene.come_to_rest()
    scene.restart()


def accepted_killed_by_itself(scene: Scene) -> None:
    scene.agent().answer()
    scene.kill_worker_at("accepted")
    scene.restart()


def accepted_answer_withheld(scene: Scene) -> None:
    """The recipient has acted and still holds its answer when the worker is killed from outside."""
    scene.simulated.behave(scene.to[0], "accept_and_wait")
    scene.agent().answer()
    worker = scene.worker()
    scene.simulated.wait_for("effects", to=scene.to[0])
    scene.kill(worker)
    scene.simulated.release()
    scene.restart()


def settling(scene: Scene) -> None:
    """Attempt closed, status moved, item removed, and not committed: all of it is undone."""
    scene.agent().answer()
    scene.kill_worker_at("attempts-closed")
    scene.restart()


def settled(scene: Scene) -> None:
    scene.agent().answer()
    scene.kill_worker_at("settled")
    scene.restart()


def two_claims_at_once(scene: Scene) -> None:
    """Two workers stand ready to claim, are let go together, and are killed when they are done."""
    scene.agent().answer()
    workers = [scene.worker(gated=True), scene.worker(gated=True)]
    for worker in workers:
        worker.wait_stopped()
    for worker in workers:
        worker.resume()
    claims = sorted(worker.answer() for worker in workers)
    scene.check(claims == [0, len(scene.to)], "one claim took everything, the other nothing")
    scene.restart()


def claimed_then_killed(scene: Scene) -> None:
    """The first claimant dies with its lease; the second gets the item when the lease is over."""
    scene.agent().answer()
    scene.kill_worker_at("claimed")
    scene.restart()


LOOKING = Terms(look_ups=True)
KEYED = Terms(window_leases=1000)

CLASSICAL: tuple[Boundary, ...] = (
    Boundary(1, "before-the-result", before_the_result, "delivered"),
    Boundary(2, "result-without-message", result_without_message, "delivered"),
    Boundary(3, "recorded-not-claimed", recorded_not_claimed, "delivered"),
    Boundary(4, "accepted-not-acknowledged", accepted_killed_by_itself, "unknown"),
    Boundary(
        4, "accepted-answer-withheld", accepted_answer_withheld, "unknown", simulator_only=True
    ),
    Boundary(4, "accepted-then-looked-up", accepted_killed_by_itself, "delivered", LOOKING),
    Boundary(4, "accepted-then-same-key", accepted_killed_by_itself, "delivered", KEYED, 2),
    Boundary(5, "acknowledged-not-committed", settling, "unknown"),
    Boundary(5, "acknowledged-and-committed", settled, "delivered"),
    Boundary(6, "two-claims-at-once", two_claims_at_once, "delivered"),
    Boundary(6, "claimed-then-killed", claimed_then_killed, "delivered"),
)
