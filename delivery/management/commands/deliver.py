"""`manage.py deliver`: a worker, for good or for one shift."""

import math
import os
import signal
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.checks import Tags, run_checks
from django.core.management.base import CommandParser
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from delivery.sealing import seal_if_due
from delivery.worker import Worker
from ledgers.management.command import Answer, LedgerCommand, MisuseError, at_least_one
from ledgers.management.words import plain


class Command(LedgerCommand):
    help = (
        "Deliver what is owed: a worker that runs until it is stopped. Run as many as you like,\n"
        "on any number of hosts. SIGTERM or Ctrl-C finishes what is on the wire and hands back\n"
        "the rest; a second Ctrl-C ends at once, and what was on the wire becomes unknown."
    )
    lesson = """
        Exit codes: 0 ended as it was told · 2 the database is not migrated, or a wrong option
                    3 the database does not answer

        Examples:
          manage.py deliver
          manage.py deliver --concurrency 8
          manage.py deliver --once             work what is due now and end, for scripts and cron
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--concurrency",
            type=at_least_one,
            default=settings.COUNTERFOIL_CONCURRENCY,
            help="calls at the same time (%(default)s)",
        )
        parser.add_argument("--once", action="store_true", help="end when nothing is due any more")

    def answer(self, options: dict[str, Any]) -> Answer:
        refuse_unmigrated()
        self._complain()
        mode = "shift" if options["once"] else "resident"
        worker = Worker(mode, options["concurrency"])
        if options["once"]:
            worker.run_shift(math.inf)
            seal_if_due()
        else:
            _stop_on_signals(worker)
            self._greet(worker, options)
            worker.run()
        return _end(worker)

    def _complain(self) -> None:
        """Say what is wrong with channels: it may hold some of them, and never the worker."""
        for said in run_checks(tags=[Tags.database], databases=["default"]):
            if said.is_serious():
                self.stderr.write(f"{said.id}: {said.msg} {said.hint or ''}".rstrip())

    def _greet(self, worker: Worker, options: dict[str, Any]) -> None:
        name, concurrency = worker.who.name, options["concurrency"]
        value = {"worker": name, "concurrency": concurrency}
        text = f"worker {name} is working, up to {concurrency} calls at once; Ctrl-C ends it"
        self.show(Answer(value, text), as_json=options["json"])
        self.stdout.flush()


def refuse_unmigrated() -> None:
    """Raises `MisuseError` while the database lacks what this code relies on."""
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        first = missing[0][0]
        raise MisuseError(
            f"The database lacks {len(missing)} migrations (the first is {first})."
            " Run: manage.py migrate"
        )


def _stop_on_signals(worker: Worker) -> None:
    def stop(_: int, __: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        # Not through a buffered stream: the signal may have interrupted a write to it.
        os.write(2, b"worker: finishing what is on the wire; Ctrl-C again ends at once\n")
        worker.stop()

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)


def _end(worker: Worker) -> Answer:
    value = {"worker": worker.who.name, "claimed": worker.claimed, "settled": worker.settled}
    text = f"worker {plain(worker.who.name)} ended: {worker.settled} calls settled"
    return Answer(value, text)
