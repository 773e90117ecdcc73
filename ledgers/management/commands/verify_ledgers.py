"""`manage.py verify_ledgers`: check every invariant, each by its name."""

from dataclasses import asdict
from typing import Any

from ledgers.management.command import Answer, LedgerCommand
from ledgers.management.words import plain
from ledgers.verify import Verdict, broken, verify


class Command(LedgerCommand):
    help = "Check every invariant of the two ledgers. Reads only; safe on a live database."
    lesson = """
        Exit codes: 0 all hold · 1 at least one is broken · 3 the database does not answer

        Examples:
          manage.py verify_ledgers
          manage.py verify_ledgers --json | python -m json.tool
        """

    def answer(self, options: dict[str, Any]) -> Answer:
        verdicts = verify()
        violated = broken(verdicts)
        value = {"holds": not violated, "invariants": [_as_json(v) for v in verdicts]}
        lines = [line for verdict in verdicts for line in _lines(verdict)]
        return Answer(value, "\n".join([*lines, "", _total(verdicts, violated)]), bool(violated))


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
