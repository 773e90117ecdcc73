"""`manage.py resolve_run`: a person has looked at a run that a dying step had stopped."""

from typing import Any

from django.core.management.base import CommandParser

from ledgers.management.command import Answer, LedgerCommand, MisuseError, person_at_shell
from ledgers.management.words import plain
from ledgers.runs import resolve_crash_loop


class Command(LedgerCommand):
    help = (
        "Let a run go on that was stopped because one of its steps killed its process twice.\n"
        "Find out why first: the next start counts its deaths anew. Nothing is sent by this."
    )
    lesson = """
        Exit codes: 0 the run may start again · 2 no run of this name is stopped

        Example:
          manage.py resolve_run nightly-2026-12-01 --reason "the host was out of memory"
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("run_id", help="the run's name, as its agent gave it")
        parser.add_argument("--reason", required=True, help="what you found; kept in the trail")

    def answer(self, options: dict[str, Any]) -> Answer:
        run_id, reason = options["run_id"], options["reason"].strip()
        if not reason:
            raise MisuseError("--reason: is empty. Right would be: what you found.", "reason")
        resolve_crash_loop(run_id, person_at_shell(), reason)
        text = f"run {plain(run_id)} may start again; its agent goes on where it was"
        return Answer({"run_id": run_id, "status": "running"}, text)
