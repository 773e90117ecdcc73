"""`manage.py draw_states`: the page about states and moves, drawn from the table of moves."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from ledgers.management.command import Answer, LedgerCommand
from ledgers.states import drawn


class Command(LedgerCommand):
    help = "Write docs/states.md from ledgers/states.py, which is what the product obeys."
    lesson = """
        Exit codes: 0 written, or equal · 1 (--check) the page differs from the table

        Examples:
          manage.py draw_states
          manage.py draw_states --check
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--check", action="store_true", help="compare, and write nothing")

    def answer(self, options: dict[str, Any]) -> Answer:
        page: Path = settings.BASE_DIR / "docs" / "states.md"
        equal = page.is_file() and page.read_text(encoding="utf-8") == drawn()
        if options["check"]:
            text = "equal" if equal else "it differs; run: manage.py draw_states"
            return Answer({"equal": equal}, f"docs/states.md: {text}", finding=not equal)
        page.parent.mkdir(exist_ok=True)
        page.write_text(drawn(), encoding="utf-8")
        text = "docs/states.md: " + ("was equal already" if equal else "written")
        return Answer({"written": not equal}, text)
