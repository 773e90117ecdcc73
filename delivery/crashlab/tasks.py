"""What the children of a drill do. Each is a clean process: a connection and clients of its own."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from delivery import agent
from delivery.crashlab.lane import Lane
from delivery.crashlab.points import POINTS, arm, freeze, note

AGENT = "crashlab"
MESSAGE = "drill"
GATE = "gate"

Armed = Mapping[str, Any] | None


def record(
    folder: Path,
    *,
    run_id: str,
    message: Mapping[str, Any],
    lease_s: float,
    announced: bool = False,
    armed: Armed = None,
) -> None:
    """An agent that never looks whether its work was done before: the ledger has to.

    `message`: channel, destinations and content. `announced`: it commits its result first and
    records the message later.
    """
    arm(folder, armed)
    owed = agent.Message(MESSAGE, **message)
    with agent.run(run_id, agent=AGENT) as run:
        step = run.step("send", lease_s=lease_s)
        if announced:
            step.complete(message["content"], announces=[MESSAGE])
            step.record([owed])
        else:
            step.complete(message["content"], [owed])


def work(folder: Path, *, channel: int, gated: bool = False, armed: Armed = None) -> int:
    """A worker on one channel, until nothing is due; how many it claimed.

    `gated`: it is ready to claim, and stops itself until it is let go.
    """
    lane = Lane(channel)
    arm(folder, armed)
    if gated:
        note(folder / POINTS, GATE)
        freeze()
    return lane.work()
