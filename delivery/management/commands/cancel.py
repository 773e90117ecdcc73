"""`manage.py cancel`: withdraw what is not wanted any more."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from delivery.cancel import Cancelled, cancel
from ledgers.management.command import Answer, LedgerCommand, MisuseError, person_at_shell
from ledgers.management.words import table
from ledgers.models import Delivery

FATES = {
    "in_time": "cancelled in time",
    "too_late": "too late: it may have been sent",
    "ended": "had ended before",
}


class Command(LedgerCommand):
    help = (
        "Withdraw the open deliveries of a run. What provably was not sent is cancelled. What may\n"
        "have been sent is too late: the withdrawal is kept and forbids any further send."
    )
    lesson = """
        Exit codes: 0 all in time, or ended before · 1 for some it was too late
                    2 no such run, message or destination

        Examples:
          manage.py cancel nightly-2026-12-01 --reason "wrong figures"
          manage.py cancel nightly-2026-12-01 --message digest --destination room:ops
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("run_id", help="the run's name, as its agent gave it")
        parser.add_argument("--message", help="only this message, by its name")
        parser.add_argument("--destination", help="only this destination, as show_run shows it")
        parser.add_argument("--reason", default="", help="why; kept in the trail")

    def answer(self, options: dict[str, Any]) -> Answer:
        run_id = options["run_id"]
        for field in ("message", "destination"):
            _refuse_unmatched(run_id, field, options[field])
        result = cancel(
            run_id,
            message=options["message"],
            destination=options["destination"],
            actor=person_at_shell(),
            reason=options["reason"],
        )
        text = f"{_listed(result)}\n\n{result}".strip()
        return Answer({"run_id": run_id} | asdict(result), text, finding=bool(result.too_late))


def _refuse_unmatched(run_id: str, field: str, wanted: str | None) -> None:
    """A name with a typing error would withdraw nothing, and look as if all were well."""
    if wanted is None:
        return
    column = {"message": "message__name", "destination": "destination"}[field]
    known = Delivery.objects.filter(message__step__run__run_id=run_id)
    if known.exists() and not known.filter(**{column: wanted}).exists():
        names = known.order_by(column).values_list(column, flat=True).distinct()[:10]
        raise MisuseError(
            f"--{field}: run {run_id!r} has none called {wanted!r}. Right would be one of: "
            + ", ".join(names),
            field,
        )


def _listed(result: Cancelled) -> str:
    fates = {id_: words for fate, words in FATES.items() for id_ in getattr(result, fate)}
    rows = Delivery.objects.filter(delivery_id__in=fates)
    return table(
        ("delivery", "destination", "result"),
        [(row.delivery_id, row.destination, fates[str(row.delivery_id)]) for row in rows],
    )
