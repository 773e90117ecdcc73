"""`manage.py crashlab`: kill real processes at named boundaries, and count what arrived."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser

from delivery.channels.registry import adapter_for
from delivery.crashlab.drills import Boundary
from delivery.crashlab.laboratory import BOUNDARIES, ForeignLaboratory, Laboratory, chosen
from delivery.crashlab.processes import WarmParent
from delivery.crashlab.report import Row, table, verdict
from delivery.crashlab.tasks import MESSAGE
from delivery.errors import InvalidInputError
from delivery.management.commands.deliver import refuse_unmigrated
from delivery.models import Worker
from delivery.roster import Message, prepare
from delivery.simulator.client import Simulator
from ledgers.clock import database_now
from ledgers.management.command import Answer, LedgerCommand, MisuseError
from ledgers.models import Channel

ALIVE_S = 20.0  # a worker that beat so shortly ago may claim what a drill has recorded

Drilling = Callable[[Boundary], Row]


class Command(LedgerCommand):
    help = (
        "Kill real processes at named boundaries, restart from clean ones on this database, and\n"
        "count what arrived at the recipient. Without --channel it starts a simulated recipient.\n"
        "What it records stays in the ledger, under runs and channels named crashlab. What is\n"
        "unknown after a drill it decides to leave so, in the trail: that asks nobody and raises\n"
        "no alarm."
    )
    lesson = """
        Exit codes: 0 every invariant holds · 1 one is broken · 2 refused, or a wrong option

        Examples:
          manage.py crashlab
          manage.py crashlab --boundary accepted-not-acknowledged
          manage.py crashlab --channel staging --to https://hooks.staging.example.com/drill

        A drill waits until leases are over, so on a channel with a lease of a minute it takes
        minutes. A channel is used only if it is marked "for testing" and can be asked what arrived.
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--channel", help="a channel marked for testing, by its slug")
        parser.add_argument("--to", help="where its drills send; with --channel only")
        parser.add_argument(
            "--boundary", choices=[one.name for one in BOUNDARIES], help="only this one",
            metavar="NAME",
        )  # fmt: skip

    def answer(self, options: dict[str, Any]) -> Answer:
        refuse_unmigrated()
        _refuse_beside_workers()
        slug = options["channel"]
        boundaries = chosen(options["boundary"], simulated=slug is None)
        if not boundaries:
            raise MisuseError("--boundary: this one needs the simulated recipient.", "boundary")
        if slug is None and options["to"] is not None:
            raise MisuseError("--to: needs --channel; the simulated recipient has its own.", "to")
        channel = None if slug is None else _testing_channel(slug)
        to = () if channel is None else _place(channel, options["to"])
        with ExitStack() as stack:
            parent = stack.enter_context(WarmParent())
            if channel is not None:
                run = ForeignLaboratory(parent, channel, to, time.sleep).run
            else:
                run = Laboratory(parent, stack.enter_context(Simulator.start()), time.sleep).run
            rows = [self._drill(run, boundary) for boundary in boundaries]
        value = {"drills": [asdict(row) for row in rows], "verdict": verdict(rows)}
        text = f"{table(rows)}\n\n{verdict(rows)}"
        return Answer(value, text, finding=any(row.broken for row in rows))

    def _drill(self, run: Drilling, boundary: Boundary) -> Row:
        self.stderr.write(f"{boundary.number:2}  {boundary.name} …")
        return run(boundary)


def _refuse_beside_workers() -> None:
    since = database_now() - timedelta(seconds=ALIVE_S)
    alive = Worker.objects.filter(stopped_at=None, beat_at__gte=since).first()
    if alive is not None:
        raise MisuseError(
            f"Worker {alive.name} is alive and would deliver what the drills leave behind."
            " Stop the workers first, or use another database."
        )


def _testing_channel(slug: str) -> Channel:
    channel = Channel.objects.select_related("credential").filter(slug=slug).first()
    if channel is None:
        raise MisuseError(f"--channel: no channel {slug!r}.", "channel")
    if not channel.for_testing:
        raise MisuseError(
            f"--channel: {slug!r} is not marked for testing, so no drill may send through it."
            " Mark it in the console if what arrives there disturbs nobody.",
            "channel",
        )
    if not adapter_for(channel).declare().can_look_up:
        raise MisuseError(
            f"--channel: the recipient of {slug!r} cannot be asked what arrived,"
            " so nothing could be counted.",
            "channel",
        )
    return channel


def _place(channel: Channel, to: str | None) -> tuple[str, ...]:
    """The destination, if a message to it could be recorded: else every drill would break off."""
    if not to:
        raise MisuseError("--to: name the destination that the drills may send to.", "to")
    try:
        prepare([Message(MESSAGE, channel.slug, [to], content="a drill")])
    except InvalidInputError as error:
        raise MisuseError(f"--to: {error.problem}. Right would be: {error.right}.", "to") from error
    return (to,)
