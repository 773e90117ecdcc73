"""What the children of a drill do. Each is a clean process: a connection and clients of its own."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.db import connection

from delivery import agent
from delivery.channels.contract import Envelope
from delivery.contents import read_contents
from delivery.crashlab.lane import Lane
from delivery.crashlab.points import POINTS, arm, freeze, note
from delivery.history import read
from delivery.journal import CallJournal, LastCheck
from delivery.timing import boottime
from delivery.ways import Ways

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


def work(
    folder: Path,
    *,
    channel: int,
    gated: bool = False,
    wall_skew_s: float = 0.0,
    armed: Armed = None,
) -> int:
    """A worker on one channel, until nothing is due; how many it claimed.

    `gated`: it is ready to claim, and stops itself until it is let go. `wall_skew_s`: how far its
    wall clock is ahead.
    """
    lane = Lane(channel)
    _name_connection()
    _skew(wall_skew_s)
    arm(folder, armed)
    if gated:
        note(folder / POINTS, GATE)
        freeze()
    return lane.work()


def connection_name(pid: int) -> str:
    """What the database server calls the connection of this child."""
    return f"crashlab {pid}"


def _name_connection() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('application_name', %s, false)", [_own_name()])


def _own_name() -> str:
    return connection_name(os.getpid())


def _skew(seconds: float) -> None:
    if seconds:
        true = time.time
        time.time = lambda: true() + seconds


def send_unrecorded(folder: Path, *, delivery: int) -> str:
    """A submission that the database does not know of, as one made before it was restored.

    The same bytes under the same key, as derived again after a restore.
    """
    del folder
    ways = Ways()
    (case,) = read([delivery], ways)
    way = ways.of(case.channel_id)
    content = read_contents([case.message_id], ways)[case.message_id]
    rendered = way.adapter.render(
        Envelope(
            content.parts[case.part - 1], case.destination, case.part, len(content.parts),
            case.recognizer, key=case.key,
        )
    )  # fmt: skip
    allowance_s = way.channel.deadline_s
    journal = CallJournal(allowance_s, LastCheck(boottime() + allowance_s))
    return way.adapter.submit(rendered, case.key, journal).outcome
