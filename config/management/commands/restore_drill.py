"""`manage.py restore_drill`: proof that a restore repeats nothing, and that a backup is whole."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from config.recovery.backup import readable
from config.recovery.checking import check
from config.recovery.drill import Drill
from config.recovery.report import Report
from config.recovery.scratch import scratch
from delivery.simulator.client import Simulator
from ledgers.management.command import Answer, LedgerCommand


class Command(LedgerCommand):
    help = (
        "Play a restore from end to end: an installation sends, is backed up, and sends on; its\n"
        "backup is restored in place and elsewhere. Both must be held by themselves; what was\n"
        "sent is looked up, the rest is released, and the recipient counts. It takes scratch\n"
        "databases, a recipient and a data folder of its own, touches nothing real, and cleans up."
    )
    lesson = """
        Exit codes: 0 nothing was repeated, nothing was lost, and nothing went out under the hold
                    1 a claim does not hold; it is marked NOT
                    2 the backup cannot be read · 3 the database does not answer

        With --backup nothing is played and nothing is sent: the file is restored into a scratch
        database, brought to this version's schema, and checked: its invariants hold, and a worker
        would hold it. The scratch database holds what the backup holds, until the end.

        Examples:
          manage.py restore_drill
          manage.py restore_drill --backup .data/main/backups/counterfoil-….dump
          manage.py restore_drill --own-server       do not burden the server with it
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--backup", type=Path, metavar="FILE", help="prove this one instead")
        parser.add_argument(
            "--own-server", action="store_true", help="in an embedded PostgreSQL of its own"
        )

    def answer(self, options: dict[str, Any]) -> Answer:
        quiet = options["json"]
        with scratch(own_server=options["own_server"]) as place:
            if file := options["backup"]:
                report = check(place, readable(file, "--backup"))
            else:
                with Simulator.start() as recipient:
                    report = Drill(place, recipient, self._say(quiet=quiet)).play()
        return _answer(report)

    def _say(self, *, quiet: bool) -> Any:
        def say(text: str) -> None:
            if not quiet:
                self.stdout.write(f"{text} ...")
                self.stdout.flush()

        return say


def _answer(report: Report) -> Answer:
    return Answer(report.as_json(), report.as_text(), finding=not report.good)
