"""`manage.py show_delivery`: everything that is known about one delivery."""

from typing import Any

from django.core.management.base import CommandParser

from delivery.consequences import if_left, if_sent_again
from delivery.history import Case, read
from delivery.next_move import next_move
from delivery.ways import Ways
from ledgers.finding import find_delivery
from ledgers.management.command import Answer, LedgerCommand
from ledgers.management.words import moment, pairs, section, table
from ledgers.models import Delivery, Evidence

CONTENT_SHOWN = 200  # characters


class Command(LedgerCommand):
    help = (
        "Show everything about one delivery: identity, status and why, every attempt, all\n"
        "evidence, the trail, and what sending it again now, or doing nothing, would come to."
    )
    lesson = """
        The delivery may be named by its id or the first four or more digits of it, its idempotency
        key, its recognizer (dlv…, as it stands in the message), or the provider's id.

        Exit codes: 0 nothing to look at · 1 it is unknown or disputed · 2 nothing, or several,
                    are called so

        Examples:
          manage.py show_delivery 5f3a9c21
          manage.py show_delivery dlvq3k7… --json
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("id", help="what names it: see below")

    def answer(self, options: dict[str, Any]) -> Answer:
        found = find_delivery(options["id"])
        row = Delivery.objects.select_related("message__channel", "message__step__run").get(
            pk=found.pk
        )
        (case,) = read([row.pk], Ways())
        finding = row.status == "unknown" or row.disputed_at is not None
        return Answer(_as_json(row, case), _told(row, case), finding)


def _as_json(row: Delivery, case: Case) -> dict[str, Any]:
    move = next_move(case.facts, case.now)
    return {
        **_identity(row),
        "status": row.status,
        "cause": row.cause,
        "disputed_at": row.disputed_at,
        "withdrawn_at": row.withdrawn_at,
        "unknown_since": row.unknown_since,
        "acknowledged_at": row.acknowledged_at,
        "next_attempt_at": row.next_attempt_at,
        "provider_message_id": row.provider_message_id,
        "key_protects_until": case.facts.key_protects_until,
        "next_move": {"kind": move.kind, "rule": move.rule, "why": move.why, "until": move.until},
        "if_sent_again": if_sent_again(case.facts, case.now),
        "if_nothing_is_done": if_left(case.facts, case.now),
        "attempts": list(row.attempts.values()),
        "evidence": list(row.evidence.order_by("id").values()),
        "trail": list(row.events.order_by("id").values()),
    }


def _identity(row: Delivery) -> dict[str, Any]:
    message = row.message
    return {
        "delivery_id": str(row.delivery_id),
        "run_id": message.step.run.run_id,
        "step_id": message.step.step_id,
        "step_version": message.step.version,
        "message": message.name,
        "channel": message.channel.slug,
        "destination": row.destination,
        "part": row.part,
        "generation": row.generation,
        "idempotency_key": row.idempotency_key,
        "recognizer": row.recognizer,
        "body_hash": row.body_hash,
        "not_before": message.not_before,
        "not_after": message.not_after,
    }


def _told(row: Delivery, case: Case) -> str:
    return "\n".join(
        filter(
            None,
            (
                _head(row, case),
                section("Attempts", _attempts(row)),
                section("Evidence", _evidence(row)),
                section("Trail", _trail(row)),
                f"\n{if_sent_again(case.facts, case.now)}",
                if_left(case.facts, case.now),
            ),
        )
    )


def _head(row: Delivery, case: Case) -> str:
    message, step = row.message, row.message.step
    part = f", part {row.part} of {message.parts}" if message.parts > 1 else ""
    generation = f", generation {row.generation}" if row.generation > 1 else ""
    return pairs(
        [
            ("delivery", f"{row.delivery_id}{part}{generation}"),
            ("destination", f"{row.destination} through channel {message.channel.slug}"),
            ("message", f"{message.name} of step {step.step_id} v{step.version}"),
            ("run", step.run.run_id),
            ("content", message.payload[:CONTENT_SHOWN] if message.payload else "(erased)"),
            ("status", f"{row.status}: {row.get_status_display()}"),
            ("why", row.cause),
            ("disputed", moment(row.disputed_at)),
            ("withdrawn", moment(row.withdrawn_at)),
            ("unknown since", moment(row.unknown_since)),
            ("looked at next", moment(row.next_attempt_at)),
            ("key", row.idempotency_key),
            ("key protects until", moment(case.facts.key_protects_until)),
            ("recognizer", row.recognizer),
            ("provider's id", row.provider_message_id),
            ("bytes", f"sha256 {row.body_hash[:16]}…"),
        ]
    )


def _attempts(row: Delivery) -> str:
    headers = ("no", "opened", "closed", "got to", "bytes", "outcome", "as", "worker", "answer")
    rows = [
        (
            a.number,
            moment(a.opened_at),
            moment(a.closed_at) or "(open)",
            a.phase,
            a.bytes_written,
            (a.outcome or "none") + (" (late)" if a.late else "") + (" (replayed)" * a.replayed),
            a.authority.get("credential", ""),
            a.worker,
            a.error or a.provider_message_id,
        )
        for a in row.attempts.all()
    ]
    return table(headers, rows) or "none: nothing has left this machine"


def _evidence(row: Delivery) -> str:
    headers = ("taken", "method", "verdict", "searched", "coverage", "why", "by")
    rows = [
        (moment(e.taken_at), e.method, e.verdict, e.searched, _coverage(e), e.why, e.seen_by)
        for e in row.evidence.order_by("id")
    ]
    return table(headers, rows)


def _coverage(found: Evidence) -> str:
    """How much of the time, and how many pages, a search read."""
    since = f"from {moment(found.covered_from)}" if found.covered_from else ""
    pages = f"{found.pages} pages" if found.pages else ""
    return ", ".join(filter(None, (since, pages)))


def _trail(row: Delivery) -> str:
    headers = ("at", "what", "from", "to", "rule", "by")
    rows = [
        (moment(e.at), e.kind, e.from_status, e.to_status, e.rule, e.actor)
        for e in row.events.order_by("id")
    ]
    return table(headers, rows)
