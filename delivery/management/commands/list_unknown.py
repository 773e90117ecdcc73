"""`manage.py list_unknown`: what waits for a person or for proof, oldest first."""

from typing import Any

from django.core.management.base import CommandParser
from django.db.models import F, OuterRef, Q, QuerySet, Subquery

from delivery.consequences import if_left
from delivery.history import Case, read
from delivery.ways import Ways
from ledgers.management.command import Answer, LedgerCommand, MisuseError, at_least_one
from ledgers.management.words import seconds, table
from ledgers.models import Channel, Delivery, Evidence

HEADERS = ("age", "status", "delivery", "channel", "destination", "last evidence", "key protects")


class Command(LedgerCommand):
    help = (
        "List what no machine can finish, oldest first: unknown deliveries, which may have been\n"
        "accepted and are not sent again by guesswork; and pending ones that wait for a person,\n"
        "such as after a search which proved that nothing arrived. What somebody decided to\n"
        "leave as it is counts as answered. `show_delivery ID` shows everything about one."
    )
    lesson = """
        Exit codes: 0 there are none · 1 there are some · 2 no such channel

        Examples:
          manage.py list_unknown
          manage.py list_unknown --channel alerts --limit 10
          manage.py list_unknown --json
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--channel", help="only this channel, by its slug")
        parser.add_argument(
            "--limit", type=at_least_one, default=100, help="the oldest so many (%(default)s)"
        )

    def answer(self, options: dict[str, Any]) -> Answer:
        everything = unknown_deliveries(options["channel"])
        unknown = everything.exclude(decision="leave")
        count, left = unknown.count(), everything.filter(decision="leave").count()
        rows = _described(unknown[: options["limit"]])
        value = {"count": count, "left": left, "unknown": rows}
        also = f"; {left} more left as they are, by decision" if left else ""
        if not count:
            return Answer(value, f"nothing is unknown, and nothing waits for a person{also}")
        shown = f", the oldest {len(rows)} shown" if len(rows) < count else ""
        sums = f"{unknown.filter(status='unknown').count()} unknown"
        if waiting := unknown.filter(status="pending").count():
            sums += f", {waiting} pending and waiting for a person"
        text = f"{table(HEADERS, [_line(row) for row in rows])}\n\n{sums}{shown}{also}"
        return Answer(value, text, finding=True)


def unknown_deliveries(channel: str | None) -> QuerySet[Delivery]:
    """The deliveries that no machine can finish, oldest first, of one channel or of all.

    Raises:
        MisuseError: there is no such channel.
    """
    waits_for_a_person = Q(status="pending", outbox_item__isnull=True)
    unknown = Delivery.objects.filter(Q(status="unknown") | waits_for_a_person).order_by(
        F("unknown_since").asc(nulls_last=True), "id"
    )
    if channel is None:
        return unknown
    if not Channel.objects.filter(slug=channel).exists():
        known = ", ".join(Channel.objects.values_list("slug", flat=True)) or "none yet"
        raise MisuseError(f"--channel: no channel {channel!r}. Right would be: {known}", "channel")
    return unknown.filter(message__channel__slug=channel)


def _described(unknown: QuerySet[Delivery]) -> list[dict[str, Any]]:
    last = Evidence.objects.filter(delivery=OuterRef("pk")).order_by("-id")
    rows = list(
        unknown.select_related("message__channel", "message__step__run").annotate(
            last_verdict=Subquery(last.values("verdict")[:1]),
            last_method=Subquery(last.values("method")[:1]),
            last_why=Subquery(last.values("why")[:1]),
        )
    )
    cases = {case.id: case for case in read([row.pk for row in rows], Ways())}
    return [_as_json(row, cases[row.pk]) for row in rows]


def _as_json(row: Any, case: Case) -> dict[str, Any]:
    until, now = case.facts.key_protects_until, case.now
    since = row.unknown_since or row.created_at
    return {
        "status": row.status,
        "delivery_id": str(row.delivery_id),
        "run_id": row.message.step.run.run_id,
        "channel": row.message.channel.slug,
        "destination": row.destination,
        "unknown_since": since,
        "age_s": round((now - since).total_seconds(), 1),
        "attempts": row.attempt_count,
        "last_method": row.last_method,
        "last_verdict": row.last_verdict,
        "last_why": row.last_why,
        "key_protects_s": max(0.0, round((until - now).total_seconds(), 1)) if until else 0.0,
        "if_nothing_is_done": if_left(case.facts, now),
    }


def _line(row: dict[str, Any]) -> tuple[object, ...]:
    evidence = f"{row['last_method']}: {row['last_verdict']}" if row["last_verdict"] else "none yet"
    left = seconds(row["key_protects_s"]) if row["key_protects_s"] else "no longer, or never"
    return (
        seconds(row["age_s"]),
        row["status"],
        row["delivery_id"][:13],
        row["channel"],
        row["destination"],
        evidence,
        left,
    )
