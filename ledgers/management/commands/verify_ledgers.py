"""`manage.py verify_ledgers`: check every invariant, each by its name."""

import re
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from ledgers import seals
from ledgers.management.command import Answer, LedgerCommand, MisuseError
from ledgers.management.words import plain
from ledgers.sealcheck import holds_anchor
from ledgers.seals import Anchor
from ledgers.verify import Verdict, broken, verify


class Command(LedgerCommand):
    help = (
        "Check every invariant of the two ledgers, and every seal over them. Reads only; safe on\n"
        "a live database. It prints the newest seal as an anchor: keep it where the database's\n"
        "owner cannot write. Who rebuilds all seals is found by an older anchor, and by nothing\n"
        "else."
    )
    lesson = """
        Exit codes: 0 all hold · 1 at least one is broken, or an anchor is not in the chain
                    2 an anchor cannot be read · 3 the database does not answer

        Examples:
          manage.py verify_ledgers
          manage.py verify_ledgers --anchor 812:5f0c…
          manage.py verify_ledgers --json | python -m json.tool
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--anchor",
            action="append",
            default=[],
            metavar="NUMBER:HASH",
            help="a seal as it was printed before; may be given again",
        )

    def answer(self, options: dict[str, Any]) -> Answer:
        anchors = [_anchor(text) for text in options["anchor"]]
        newest = seals.newest()  # before the check, which reads all that it vouches for
        verdicts = [*verify(), *map(_kept, anchors)]
        violated = broken(verdicts)
        value = {
            "holds": not violated,
            "invariants": [_as_json(v) for v in verdicts],
            "anchor": str(newest) if newest else None,
        }
        lines = [line for verdict in verdicts for line in _lines(verdict)]
        told = [*lines, "", _total(verdicts, violated), f"anchor {newest or 'none: no seal yet'}"]
        return Answer(value, "\n".join(told), bool(violated))


def _anchor(text: str) -> Anchor:
    """Raises `MisuseError` saying what would be right."""
    found = re.fullmatch(r"([1-9][0-9]{0,17}):([0-9a-f]{64})", text)
    if not found:
        raise MisuseError(
            f"--anchor: {text!r} is no anchor. Right would be: a seal's number, a colon and its"
            " 64 hex digits, as this command prints them.",
            "anchor",
        )
    return Anchor(int(found[1]), bytes.fromhex(found[2]))


def _kept(anchor: Anchor) -> Verdict:
    name, promise = (
        f"anchor-{anchor.number}",
        "the chain still has the seal that was kept elsewhere",
    )
    return Verdict(name, promise, *((0, ()) if holds_anchor(anchor) else (1, (str(anchor),))))


def _as_json(verdict: Verdict) -> dict[str, Any]:
    return asdict(verdict) | {"holds": verdict.holds}


def _lines(verdict: Verdict) -> list[str]:
    if verdict.holds:
        return [f"ok      {verdict.name}"]
    more = verdict.count - len(verdict.offenders)
    return [
        f"BROKEN  {verdict.name}: {verdict.promise}",
        *(f"          {plain(offender)}" for offender in verdict.offenders),
        *([f"          and {more} more"] if more else []),
    ]


def _total(verdicts: list[Verdict], violated: list[Verdict]) -> str:
    if violated:
        return f"{len(violated)} of {len(verdicts)} invariants are BROKEN"
    return f"all {len(verdicts)} invariants hold"
