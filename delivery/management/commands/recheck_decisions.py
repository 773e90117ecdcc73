"""`manage.py recheck_decisions`: do the stored decisions follow from their stored inputs?"""

from argparse import ArgumentTypeError
from dataclasses import asdict
from itertools import islice
from typing import Any

from django.core.management.base import CommandParser

from delivery.recheck import Difference, Recheck
from ledgers.management.command import Answer, LedgerCommand
from ledgers.management.words import plain

SHOWN = 50


class Command(LedgerCommand):
    help = (
        "Decide every stored decision again, from the inputs stored with it, and report each that\n"
        "comes out otherwise. Reads the trail only: it asks and sends nothing."
    )
    lesson = """
        Exit codes: 0 all are reproduced · 1 some differ · 3 the database does not answer

        Examples:
          manage.py recheck_decisions
          manage.py recheck_decisions --since 120000     only events after this number
          manage.py recheck_decisions --json | python -m json.tool
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--since",
            type=event_number,
            default=0,
            metavar="EVENT",
            help="leave out events up to this number; the answer names the last one looked at",
        )

    def answer(self, options: dict[str, Any]) -> Answer:
        recheck = Recheck(options["since"])
        found = recheck.differences()
        shown = list(islice(found, SHOWN))
        more = sum(1 for _ in found)
        value = {
            "decisions": recheck.count,
            "differ": len(shown) + more,
            "last_event": recheck.last,
            "differences": [asdict(one) for one in shown],
        }
        return Answer(value, _told(recheck, shown, more), finding=bool(shown))


def event_number(text: str) -> int:
    """The number of an event, as the trail shows it.

    Raises:
        ArgumentTypeError: saying what is right.
    """
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ArgumentTypeError(f"{text!r} is not the number of an event, such as 120000")
    return int(text)


def _told(recheck: Recheck, shown: list[Difference], more: int) -> str:
    lines = [
        f"DIFFERS  event {one.event} ({plain(one.kind)}, {plain(one.rule)}): {plain(one.why)}"
        for one in shown
    ]
    if more:
        lines.append(f"         and {more} more")
    if not shown:
        return f"all {recheck.count} decisions are reproduced, up to event {recheck.last}"
    differ = len(shown) + more
    return "\n".join([*lines, "", f"{differ} of {recheck.count} decisions DIFFER"])
