"""`manage.py record`: a completed step and its messages, for agents that only have a shell."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from delivery.record import complete_and_record
from delivery.spelled import Recording, read_recording
from delivery.standing import DeliveryStanding, Sent
from ledgers import execution, runs
from ledgers.management.command import Answer, LedgerCommand, MisuseError
from ledgers.management.words import plain, table
from ledgers.models import Event

SHOWN = 50  # deliveries in the table; --json has all
DRIFTS = ("result_drift", "payload_drift", "roster_drift", "message_drift")


class Command(LedgerCommand):
    help = (
        "Record that a step is completed, with its result and the messages it owes: all of it, or\n"
        "nothing. Reads one JSON object from standard input or a file. Saying it again is safe:\n"
        "what was recorded first stands, and nothing is sent twice."
    )
    lesson = """
        Keys: run_id, agent, step_id (needed) · trigger_key, input, version (1), result, result_ref,
        announces · end_run: true, the default, completes the run once no step of it is open; say
        false if another step follows · messages, a list of
        {name, channel, to (a list), content, not_before, not_after}

        Exit codes: 0 recorded, or known already · 1 the ledger does not allow it (the step was
                    started with other input, another process has it, a crash loop)
                    2 the input is wrong; the field is named and nothing was written
                    3 the database does not answer

        Example:
          echo '{"run_id": "report-2026-12-01", "agent": "report", "step_id": "write",
                 "messages": [{"name": "report", "channel": "notes", "to": ["ops"],
                               "content": "All quiet."}]}' | manage.py record
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", nargs="?", default="-", help="the file; - is standard input")

    def answer(self, options: dict[str, Any]) -> Answer:
        return record(read_recording(_text(options["file"])))


def _text(name: str) -> str:
    place = "standard input" if name == "-" else name
    try:
        raw = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise MisuseError(f"file: {place} cannot be read: {error.strerror}", "file") from error
    except UnicodeDecodeError as error:
        text = f"file: {place} is not UTF-8 at byte {error.start}. Right would be: UTF-8 text"
        raise MisuseError(text, "file") from error


def record(said: Recording) -> Answer:
    """Record it in one transaction: a refused recording leaves no run behind."""
    with transaction.atomic():
        run = runs.open_run(said.run_id, said.agent, said.trigger_key)
        lease = execution.start_step(run, said.step_id, input=said.input, version=said.version)
        before = _drifts(lease.step_pk)
        result = complete_and_record(
            lease,
            said.result,
            said.messages,
            result_ref=said.result_ref,
            announces=said.announces,
        )
        status = runs.end_run(run) if said.end_run else run.status
        drift = _drifts(lease.step_pk)[len(before) :]
    standing = Sent(lease).standing()
    value = {
        "run_id": run.run_id,
        "run_status": str(status),
        "step_id": said.step_id,
        "version": said.version,
        "known": lease.done,
        "differs": drift,
        "result": result,
        "deliveries": [asdict(one) for one in standing.deliveries],
    }
    return Answer(value, _told(value, standing.deliveries))


def _drifts(step_pk: int) -> list[str]:
    """How later recordings of this step differed from the first one, as the trail has it."""
    drifts = Event.objects.filter(step_id=step_pk, kind__in=DRIFTS).order_by("id")
    return list(drifts.values_list("kind", flat=True))


def _told(value: dict[str, Any], deliveries: tuple[DeliveryStanding, ...]) -> str:
    what = f"step {plain(value['step_id'])} of run {plain(value['run_id'])}"
    head = (
        f"known already: {what}; what was recorded first stands"
        if value["known"]
        else (f"recorded: {what}")
    )
    rows = [(d.delivery_id, d.channel, d.destination, d.status) for d in deliveries[:SHOWN]]
    lines = [head, *(f"it differs now and was not taken up: {kind}" for kind in value["differs"])]
    lines += ["", table(("delivery", "channel", "destination", "status"), rows)] if rows else []
    lines += [f"and {len(deliveries) - SHOWN} more"] if len(deliveries) > SHOWN else []
    return "\n".join(lines)
