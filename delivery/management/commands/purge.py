"""`manage.py purge`: let records go that are older than the policy; by itself it only looks."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from delivery import retention
from delivery.retention import Plan
from ledgers import seals
from ledgers.management.command import Answer, LedgerCommand, at_least_one, person_at_shell
from ledgers.management.words import pairs, plain, section, table


class Command(LedgerCommand):
    help = (
        "Remove the records of runs that ended longer ago than COUNTERFOIL_RETENTION_DAYS. It\n"
        "only looks, unless --execute is given. What is open, disputed, undecided, protected by a\n"
        "key or not sealed stays, and whatever shares its run with that. A receipt, the seals and\n"
        "the identities of what went stay for ever: nothing of it is done or sent again."
    )
    lesson = """
        Exit codes: 0 done, or looked · 2 used wrongly · 3 the database does not answer

        Examples:
          manage.py purge
          manage.py purge --execute --reason "the year is over" --limit 10000
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--execute", action="store_true", help="remove, and do not only look")
        parser.add_argument("--reason", default="", help="why; kept in the trail")
        parser.add_argument("--limit", type=at_least_one, help="so many runs at most")

    def answer(self, options: dict[str, Any]) -> Answer:
        if not options["execute"]:
            return _told(retention.plan(options["limit"]), executed=False)
        seals.seal_all()
        done = Plan()
        for done in retention.purge(person_at_shell(), options["reason"], options["limit"]):
            if not options["json"]:
                self.stderr.write(f"{done.runs} runs, {done.deliveries} deliveries removed")
        return _told(done, executed=True)


def _told(one: Plan, *, executed: bool) -> Answer:
    days = settings.COUNTERFOIL_RETENTION_DAYS
    value = {
        "executed": executed, "policy_days": days, "runs": one.runs, "deliveries": one.deliveries,
        "unmatched_reports": one.unmatched, "kept_runs": one.kept_runs,
        "kept": [{"run_id": name, "why": why} for name, why in one.kept],
        "receipts": one.receipts, "whole": one.whole,
    }  # fmt: skip
    went = "removed" if executed else "would go"
    lines = [
        ("policy", f"{days} days"),
        ("runs", f"{one.runs} {went}"),
        ("deliveries", f"{one.deliveries} {went}"),
        ("reports of nothing known", f"{one.unmatched} {went}"),
        ("old enough, and kept", f"{one.kept_runs} runs"),
    ]
    parts = [pairs(lines)]
    if one.kept:
        rows = [(plain(name), plain(why)) for name, why in one.kept]
        parts.append(section("kept", table(("run", "why"), rows)))
    if not one.whole:
        parts.append("There is more: the limit was reached.")
    if not executed:
        parts.append("Nothing was removed. Add --execute and --reason to do it.")
    return Answer(value, "\n\n".join(parts))
