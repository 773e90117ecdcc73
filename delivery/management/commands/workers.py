"""`manage.py workers`: who works, as they report themselves."""

from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import CommandParser

from delivery.models import Worker
from delivery.silence import SILENT_S
from ledgers.clock import database_now
from ledgers.management.command import Answer, LedgerCommand, at_least_one
from ledgers.management.words import seconds, table

# One that has missed so many beats is killed, frozen, or cut off; the console counts alike.
SILENT_AFTER = timedelta(seconds=SILENT_S)
HEADERS = ("worker", "mode", "state", "last beat", "clock offset", "claimed", "settled")


class Command(LedgerCommand):
    help = "List the workers: who beats, who fell silent, who ended, and whose clock is off."
    lesson = """
        Exit codes: 0 at least one worker is alive · 1 none is: nothing is delivered

        Examples:
          manage.py workers
          manage.py workers --limit 5 --json
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--limit", type=at_least_one, default=20, help="the latest so many (%(default)s)"
        )

    def answer(self, options: dict[str, Any]) -> Answer:
        now = database_now()
        rows = [_seen(worker, now) for worker in Worker.objects.all()[: options["limit"]]]
        alive = sum(row["state"] == "alive" for row in rows)
        total = f"{alive} alive" if alive else "no worker is alive: nothing is delivered"
        text = f"{table(HEADERS, [_line(row) for row in rows])}\n\n{total}".strip()
        return Answer({"alive": alive, "workers": rows}, text, finding=not alive)


def _seen(worker: Worker, now: datetime) -> dict[str, Any]:
    silence = now - worker.beat_at
    state = "ended" if worker.stopped_at else "silent" if silence > SILENT_AFTER else "alive"
    return {
        "worker": worker.name,
        "host": worker.host,
        "pid": worker.pid,
        "mode": worker.mode,
        "state": state,
        "started_at": worker.started_at,
        "beat_age_s": round(silence.total_seconds(), 1),
        "clock_offset_s": round(worker.clock_offset_s, 3),
        "claimed": worker.claimed,
        "settled": worker.settled,
    }


def _line(row: dict[str, Any]) -> tuple[object, ...]:
    return (
        row["worker"],
        row["mode"],
        row["state"],
        seconds(row["beat_age_s"]) + " ago",
        f"{row['clock_offset_s']:+.3f} s",
        row["claimed"],
        row["settled"],
    )
