"""`manage.py show_run`: one run in both ledgers, every destination accounted for."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from delivery.standing import DeliveryStanding, Owed, owed
from ledgers import holder
from ledgers.management.command import Answer, LedgerCommand
from ledgers.management.words import moment, pairs, plain, section, table
from ledgers.models import Event, Run, Step
from ledgers.states import RunStatus, StepStatus

SHOWN = 40  # deliveries in the table unless --all
URGENCY = ("unknown", "failed", "expired", "cancelled", "submitting", "pending", "delivered")


class Command(LedgerCommand):
    help = (
        "Show one run: what its agent finished, what became of every message it owed, what a\n"
        "later execution did differently, and what must not be sent again."
    )
    lesson = """
        Exit codes: 0 nothing to look at · 1 something is unknown, an announced message is missing,
                    or the run is stopped by a crash loop · 2 no such run

        Examples:
          manage.py show_run report-2026-12-01
          manage.py show_run report-2026-12-01 --json
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("run_id", help="the run's name, as its agent gave it")
        parser.add_argument("--all", action="store_true", help="every delivery, however many")

    def answer(self, options: dict[str, Any]) -> Answer:
        known = owed(options["run_id"])
        run = Run.objects.get(run_id=known.run_id)
        drift = _drift(run)
        stopped = run.status == RunStatus.CRASH_LOOP
        finding = bool(known.standing.unknown or known.announced or stopped)
        shown = None if options["all"] else SHOWN
        return Answer(_as_json(run, known, drift), _told(run, known, drift, shown), finding)


def _drift(run: Run) -> list[dict[str, Any]]:
    events = Event.objects.filter(run=run, kind__endswith="_drift").select_related("step")
    return [
        {
            "at": e.at,
            "kind": e.kind,
            "step_id": e.step.step_id if e.step else "",
            "detail": e.detail,
        }
        for e in events.order_by("id")
    ]


def _as_json(run: Run, known: Owed, drift: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "agent": run.agent,
        "status": run.status,
        "trigger_key": run.trigger_key,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "error": run.error,
        "account": str(known.standing),
        "counts": known.standing.counts,
        "steps": list(run.steps.values(*STEP_COLUMNS)),
        "announced_and_missing": [{"step_id": s, "message": m} for s, m in known.announced],
        "must_not_send": [d.delivery_id for d in known.must_not_send],
        "deliveries": [asdict(d) for d in known.standing.deliveries],
        "drift": drift,
    }


STEP_COLUMNS = (
    "step_id", "version", "status", "starts", "deaths", "started_at", "lease_until", "holder",
    "finished_at", "result_hash", "result_ref", "error",
)  # fmt: skip


def _told(run: Run, known: Owed, drift: list[dict[str, Any]], shown: int | None) -> str:
    missing = [f"{plain(step)} announced {plain(name)}" for step, name in known.announced]
    return "\n".join(
        filter(
            None,
            (
                _head(run),
                section("Execution ledger", _steps(run)),
                section("Announced, and not recorded yet", "\n".join(missing)),
                section("Delivery ledger", _deliveries(known, shown)),
                section("A later execution differed; the first one stands", _differences(drift)),
                f"\n{known.standing}",
                _advice(known),
            ),
        )
    )


def _head(run: Run) -> str:
    return pairs(
        [
            ("run", run.run_id),
            ("agent", run.agent),
            ("status", f"{run.status}: {run.get_status_display()}"),
            ("trigger", run.trigger_key),
            ("started", moment(run.started_at)),
            ("finished", moment(run.finished_at)),
            ("error", run.error),
        ]
    )


def _steps(run: Run) -> str:
    headers = (
        "step", "version", "status", "starts", "deaths", "held by", "lease ends", "finished",
        "error",
    )  # fmt: skip
    return table(headers, [_step(s) for s in run.steps.all()]) or "no step yet"


def _step(s: Step) -> tuple[object, ...]:
    running = s.status == StepStatus.RUNNING
    held_by = holder.worded(s.holder) if running else ""
    if running and holder.is_gone(s.holder):
        held_by += ", which is gone: it may be started again"
    return (
        s.step_id, s.version, s.status, s.starts, s.deaths or "", held_by, moment(s.lease_until),
        moment(s.finished_at), s.error,
    )  # fmt: skip


def _deliveries(known: Owed, shown: int | None) -> str:
    """The urgent ones first, so that a long roster does not hide them."""
    ordered = sorted(known.standing.deliveries, key=lambda d: URGENCY.index(d.status))
    listed = ordered[:shown]
    text = table(
        ("delivery", "message", "channel", "destination", "attempts", "status", "why"),
        [_line(d) for d in listed],
    )
    more = len(ordered) - len(listed)
    return text + (f"\nand {more} more; --all shows them" if more else "")


def _line(d: DeliveryStanding) -> tuple[object, ...]:
    name = d.message + (f" part {d.part}" if d.part > 1 else "")
    name += f" generation {d.generation}" if d.generation > 1 else ""
    why = "" if d.status == "delivered" else d.cause.partition(":")[0]
    return (d.delivery_id[:13], name, d.channel, d.destination, d.attempts, d.status, why)


def _differences(drift: list[dict[str, Any]]) -> str:
    rows = [(moment(d["at"]), d["kind"], d["step_id"], _detail(d["detail"])) for d in drift]
    return table(("at", "what", "step", "detail"), rows)


def _detail(detail: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in detail.items() if value)


def _advice(known: Owed) -> str:
    counts = known.standing.counts
    taken = [f"{counts[s]} {w}" for s, w in _TAKEN_CARE_OF if counts.get(s)]
    not_sent = len(known.standing.deliveries) - len(known.must_not_send)
    lines = []
    if taken:
        lines.append(f"Must not be sent again by anybody: {', '.join(taken)}.")
    if not_sent:
        lines.append(f"Provably not sent, and nothing more is tried: {not_sent}.")
    return "\n".join(lines)


_TAKEN_CARE_OF = (
    ("delivered", "delivered"),
    ("unknown", "may have arrived"),
    ("submitting", "on the wire"),
    ("pending", "on its way"),
)
