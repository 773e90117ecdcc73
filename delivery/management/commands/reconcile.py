"""`manage.py reconcile`: look for unknown deliveries at their destinations, now."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandParser

from delivery.decide import Decided, decide
from delivery.history import Case, read
from delivery.management.commands.list_unknown import unknown_deliveries
from delivery.questions import has_room
from delivery.reconcile import Search, search_for, settle_searches
from delivery.ways import Ways
from ledgers.finding import find_delivery
from ledgers.management.command import (
    Answer,
    LedgerCommand,
    MisuseError,
    at_least_one,
    person_at_shell,
)
from ledgers.management.words import plain, table
from ledgers.models import Delivery
from ledgers.states import DeliveryStatus

AT_ONCE = 8  # searches at the same time
WAVE = 64  # searches settled in one commit
HEADERS = ("delivery", "channel", "destination", "method", "verdict", "now")


@dataclass(frozen=True, slots=True)
class Look:
    """What came of one delivery. `skipped`: why it was not searched, and nothing written."""

    case: Case
    channel: str
    status: str
    skipped: str = ""
    findings: tuple[dict[str, Any], ...] = ()


class Command(LedgerCommand):
    help = (
        "Look for unknown deliveries at their destinations now, without waiting for the schedule:\n"
        "by key, by the provider's id, then by the recognizer. What is seen is kept as evidence,\n"
        "and decides. Nothing is sent by this. A delivery that a worker holds is left to it."
    )
    lesson = """
        "absent" counts only when the search was complete and late enough; see show_delivery.

        Exit codes: 0 none of them is unknown any more · 1 at least one still is
                    2 no such delivery or channel

        Examples:
          manage.py reconcile
          manage.py reconcile --channel alerts --limit 20
          manage.py reconcile --delivery 5f3a9c21
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--delivery", help="only this one, named as for show_delivery")
        which.add_argument("--channel", help="only this channel, by its slug")
        parser.add_argument(
            "--limit", type=at_least_one, default=1000, help="the oldest so many (%(default)s)"
        )

    def answer(self, options: dict[str, Any]) -> Answer:
        ids = _chosen(options)
        looks = [
            look
            for start in range(0, len(ids), WAVE)
            for look in look_now(ids[start : start + WAVE])
        ]
        left = sum(look.status == DeliveryStatus.UNKNOWN for look in looks)
        value = {
            "looked_at": len(looks),
            "unknown": left,
            "deliveries": [_as_json(k) for k in looks],
        }
        return Answer(value, _told(looks, left), finding=bool(left))


def _chosen(options: dict[str, Any]) -> list[int]:
    if options["delivery"] is None:
        unknown = unknown_deliveries(options["channel"])
        return list(unknown.values_list("pk", flat=True)[: options["limit"]])
    row = find_delivery(options["delivery"])
    if row.status != DeliveryStatus.UNKNOWN:
        raise MisuseError(
            f"--delivery: {row.delivery_id} is {row.status}. Right would be: an unknown one; see"
            " list_unknown",
            "delivery",
        )
    return [row.pk]


def look_now(ids: Sequence[int]) -> list[Look]:
    """Search for these deliveries and settle what was seen, in one commit."""
    ways = Ways()
    decided = [decide(case) for case in read(ids, ways)]
    skipped = {d.case.id: why for d in decided if (why := _why_not(d, ways))}
    skipped |= _without_room([d for d in decided if d.case.id not in skipped], ways)
    searches = [search_for(d, ways) for d in decided if d.case.id not in skipped]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(Search.run, searches))
    settle_searches(searches, person_at_shell(), leased=False)
    seen = {search.case.id: search for search in searches}
    status = dict(Delivery.objects.filter(pk__in=ids).values_list("pk", "status"))
    return [
        Look(
            case=d.case,
            channel=ways.of(d.case.channel_id).channel.slug,
            status=status[d.case.id],
            skipped=skipped.get(d.case.id, ""),
            findings=_findings(seen.get(d.case.id)),
        )
        for d in decided
    ]


def _without_room(wanted: Sequence[Decided], ways: Ways) -> dict[int, str]:
    """Which of these the provider takes no question about now; a worker asks by its schedule."""
    return {
        d.case.id: "its provider takes no more questions now"
        for d in wanted
        if not has_room(d.case.channel_id, ways)
    }


def _why_not(decided: Decided, ways: Ways) -> str:
    case = decided.case
    if case.leased:
        return "a worker holds it now"
    if not ways.of(case.channel_id).adapter.declare().can_look_up:
        return "its channel cannot be searched"
    return ""


def _findings(search: Search | None) -> tuple[dict[str, Any], ...]:
    return tuple(
        {
            "method": one.method,
            "verdict": one.verdict,
            "searched": one.searched,
            "why": one.why,
            "provider_message_id": one.provider_message_id,
        }
        for one in (search.findings if search else ())
    )


def _as_json(look: Look) -> dict[str, Any]:
    return {
        "delivery_id": str(look.case.delivery_id),
        "channel": look.channel,
        "destination": look.case.destination,
        "status": look.status,
        "skipped": look.skipped,
        "findings": list(look.findings),
    }


def _told(looks: Sequence[Look], left: int) -> str:
    if not looks:
        return "nothing is unknown"
    rows = [row for look in looks for row in _rows(look)]
    details = [line for look in looks for line in _details(look)]
    total = f"{len(looks)} looked at: {len(looks) - left} settled, {left} still unknown"
    return "\n".join([table(HEADERS, rows), "", *details, *([""] if details else []), total])


def _rows(look: Look) -> list[tuple[object, ...]]:
    case = look.case
    head = (str(case.delivery_id)[:13], look.channel, case.destination)
    if look.skipped:
        return [(*head, "not searched", look.skipped, look.status)]
    return [(*head, one["method"], one["verdict"], look.status) for one in look.findings]


def _details(look: Look) -> list[str]:
    """What was asked, so that a person can ask it again; and why it did not settle the question."""
    name = str(look.case.delivery_id)[:13]
    return [
        f"{name}  {plain(one['searched'])}"
        + (f"\n{'':15}{plain(one['why'])}" if one["why"] else "")
        for one in look.findings
    ]
