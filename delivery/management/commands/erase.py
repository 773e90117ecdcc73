"""`manage.py erase`: the contents of a run or a delivery go; by itself it only looks."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from delivery.erasing import erase, of_delivery, of_run, would_erase
from ledgers.management.command import Answer, LedgerCommand, MisuseError, person_at_shell
from ledgers.management.words import pairs, plain


class Command(LedgerCommand):
    help = (
        "Erase contents on request: of a whole run, or of one delivery. It only looks, unless\n"
        "--execute is given. Words go; hashes, destinations and what happened stay, and every\n"
        "part leaves its event. What is open must come to rest first."
    )
    lesson = """
        Exit codes: 0 done, or looked · 1 something of it is open · 2 nothing of this name

        Examples:
          manage.py erase --run report-2026-12-01
          manage.py erase --run report-2026-12-01 --execute --reason "request 4711"
          manage.py erase --delivery 5c2f --execute --reason "request 4711"
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--run", metavar="RUN", help="all contents and results of a run")
        parser.add_argument(
            "--delivery",
            metavar="ID",
            help="the content of its message, shared with its roster; its answers and reports",
        )
        parser.add_argument("--execute", action="store_true", help="erase, and do not only look")
        parser.add_argument("--reason", default="", help="why; kept in the trail")

    def answer(self, options: dict[str, Any]) -> Answer:
        run, delivery, execute = options["run"], options["delivery"], options["execute"]
        if bool(run) == bool(delivery):
            raise MisuseError("Name what to erase: either --run RUN or --delivery ID.", "run")
        scope = of_run(run) if run else of_delivery(delivery)
        found = (
            erase(scope, person_at_shell(), options["reason"]) if execute else would_erase(scope)
        )
        counts = [(name, str(number)) for name, number in asdict(found).items()]
        told = f"{plain(scope.what)}: {'erased' if execute else 'would be erased'}\n{pairs(counts)}"
        if not execute:
            told += "\n\nNothing was erased. Add --execute and --reason to do it."
        return Answer({"of": scope.what, "executed": execute, **asdict(found)}, told)
