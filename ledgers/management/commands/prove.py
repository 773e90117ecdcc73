"""`manage.py prove`: the record of one run, for somebody who trusts neither us nor our database."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from ledgers.management.command import Answer, LedgerCommand, MisuseError, person_at_shell
from ledgers.management.words import plain
from ledgers.proving import prove
from ledgers.seals import newest


class Command(LedgerCommand):
    help = (
        "Write a bundle that proves what one run did: both ledgers, all its events, attempts and\n"
        "evidence, and the seals over them. Anybody checks it with docs/check_bundle.py, without\n"
        "Django and without the database. Contents are left out; their hashes are in it. What\n"
        "waits for a seal is sealed first, and that the bundle was made is in the trail."
    )
    lesson = """
        Exit codes: 0 written · 1 a row of the run is in no seal · 2 no such run, or no such folder

        Examples:
          manage.py prove report-2026-12-01 --out report.json
          python docs/check_bundle.py report.json
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("run_id", help="the run's name, as its agent gave it")
        parser.add_argument("--out", metavar="FILE", help="write it there, and not to the screen")

    def answer(self, options: dict[str, Any]) -> Answer:
        run_id, out = options["run_id"], options["out"]
        text = prove(run_id, person_at_shell())
        if not out:
            return Answer({"run_id": run_id, "bundle": text}, text.rstrip("\n"))
        try:
            Path(out).write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            why = error.strerror or str(error)
            raise MisuseError(
                f"--out: {out!r} cannot be written: {why}. Right would be: a file in a folder that"
                " is there.",
                "out",
            ) from error
        value = {"run_id": run_id, "out": out, "anchor": str(newest())}
        told = f"the record of run {plain(run_id)} is in {plain(out)}\nanchor {newest()}"
        return Answer(value, told)
