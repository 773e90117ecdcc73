"""Making an incident: an agent records, a worker sends, and a recipient does as it was told."""

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from config.demo.processes import end, first_line, kill, started
from config.drill.kinds import Fate, Kind
from delivery import agent
from delivery.simulator.client import Simulator
from ledgers.models import Channel, Credential, Delivery, OutboxItem, Run
from ledgers.trail import log

AGENT = "practice"
CONSOLE = "http://127.0.0.1:8000"  # where it is usually served
ALERT = "practice_alert"  # the event from which it is counted how long a decision took
HELD = "practised"  # the signal for which a killed worker's submissions wait
LEASE_S, DEADLINE_S, MARGIN_S = 3.0, 1.0, 0.5
PATIENCE_S, LOOK_S = 90.0, 0.2
TEXT = "Practice: the lift in your building is checked tomorrow at 10:00."


def new_tag() -> str:
    """What tells one practice from the others, in the names of all that belongs to it."""
    return secrets.token_hex(2)


def practice_channel(kind: Kind, url: str, tag: str) -> Channel:
    """A channel of this practice alone, marked for testing and led to this recipient.

    On one that several share, a worker's breaker would remember the failures of the last practice,
    and two of them within a quarter of an hour would be one incident.
    """
    credential, _ = Credential.objects.update_or_create(
        name=AGENT, defaults={"identity": "counterfoil", "destination_rules": ["practice:*"]}
    )
    blind = {"look_up_by_key": False, "look_up_by_id": False, "scan": kind.search}
    return Channel.objects.create(
        slug=f"{AGENT}-{tag}",
        adapter="simulator",
        credential=credential,
        settings=blind | {"url": url},
        look_up_schedule=[1] if kind.search else [],
        lease_s=LEASE_S,
        deadline_s=DEADLINE_S,
        margin_s=MARGIN_S,
        for_testing=True,
    )


@dataclass(frozen=True, slots=True)
class Scene:
    """Where it happens. `folder`: where the workers' log goes."""

    channel: Channel
    recipient: Simulator
    folder: Path


def stage(kind: Kind, plan: Sequence[Fate], scene: Scene) -> Run:
    """Let it happen, and wait until machines have done what they can.

    Args:
        kind: of incident.
        plan: what happens to whom.
        scene: where.

    Raises:
        TimeoutError: machines are not at rest.
    """
    for fate in plan:
        scene.recipient.behave(fate.to, _treatment(kind, fate))
    submitted = scene.recipient.submissions() + len(plan)  # once all are
    run = _record(plan, scene.channel)
    with (scene.folder / "drill.log").open("ab") as file:
        if kind.kill:
            _kill_a_worker(scene.recipient, submitted, file)
        # A worker of its own, beside those that are there: whoever claims it sends it.
        with started(file, "manage.py", "deliver") as worker:
            first_line(worker)
            _wait_for_rest(run.run_id)
            end(worker)
    scene.recipient.release(HELD)
    log(ALERT, AGENT, run=run, detail={"deliveries": len(plan)})
    return run


def _treatment(kind: Kind, fate: Fate) -> object:
    if kind.kill:
        return {"do": "accept_and_wait", "effect": fate.arrives, "signal": HELD}
    return "accept_and_reset" if fate.arrives else "reset"


def _record(plan: Sequence[Fate], channel: Channel) -> Run:
    name = f"{AGENT}-{secrets.token_hex(4)}"
    with agent.run(name, agent=AGENT) as run:
        step = run.step("tell", input={"of": name})
        to = [fate.to for fate in plan]
        step.complete({"told": len(to)}, [agent.Message("notice", channel.slug, to, TEXT)])
    return Run.objects.get(run_id=name)


def _kill_a_worker(recipient: Simulator, submissions: int, file: IO[bytes]) -> None:
    """SIGKILL, once all is submitted; what another worker has claimed runs into its deadline."""
    with started(file, "manage.py", "deliver") as worker:
        first_line(worker)
        recipient.wait_for("submissions", submissions, timeout_s=PATIENCE_S)
        kill(worker)


def _wait_for_rest(run_id: str) -> None:
    owed = OutboxItem.objects.filter(delivery__message__step__run__run_id=run_id)
    give_up = time.monotonic() + PATIENCE_S
    while owed.exists():
        if time.monotonic() > give_up:
            raise TimeoutError(f"{owed.count()} of them are still with a machine")
        time.sleep(LOOK_S)


def deliveries(run: Run) -> list[Delivery]:
    """What it is about: the first generation of each."""
    rows = Delivery.objects.filter(message__step__run=run, generation=1)
    return list(rows.select_related("message__channel").order_by("pk"))
