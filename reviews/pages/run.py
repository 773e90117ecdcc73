"""One run: both ledgers side by side, and one line that accounts for every destination."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.db.models import Count
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase

from ledgers.models import Delivery, Event, Message, Run, Step
from ledgers.states import DeliveryStatus
from reviews.dossier import account
from reviews.pages.registry import page
from reviews.pages.shown import show

PAGE = 50
STEPS = 200
# The urgent ones are listed first where no status is asked for.
STATUSES = ("unknown", "failed", "expired", "submitting", "pending", "cancelled", "delivered")


@dataclass(frozen=True, slots=True)
class Owed:
    """One message of a step and how its destinations stand."""

    message: Message
    account: str
    unknown: int


@dataclass(frozen=True, slots=True)
class Done:
    """One step: what the agent finished, and what that owes."""

    step: Step
    owed: tuple[Owed, ...]
    missing: tuple[str, ...]


@page("run", "runs/<int:pk>/")
def run(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Both ledgers of one run."""
    row = Run.objects.filter(pk=pk).first()
    if row is None:
        raise Http404(f"There is no run {pk}.")
    counts = _counts(row)
    wanted = _wanted(request.GET.get("status", ""))
    listed = _listed(row, wanted, request.GET.get("after", ""))
    context: dict[str, Any] = {
        "row": row,
        "steps": _steps(row, counts),
        "account": _account(row, counts),
        "statuses": _statuses(counts),
        "wanted": wanted,
        "rows": listed[:PAGE],
        "after": listed[PAGE - 1].pk if len(listed) > PAGE else None,
        "drift": _events(row).filter(kind__endswith="_drift")[:PAGE],
        "trail": _events(row).filter(delivery=None)[:PAGE],
    }
    return show(request, "console/run.html", f"Run {row.run_id[:60]}", context)


def _counts(row: Run) -> dict[int, Counter[str]]:
    """By message, how many destinations stand in which status."""
    grouped = Delivery.objects.filter(message__step__run=row, generation=1)
    found: dict[int, Counter[str]] = {}
    for message, status, number in (
        grouped.values_list("message_id", "status").annotate(number=Count("pk")).order_by()
    ):
        found.setdefault(message, Counter())[status] = number
    return found


def _account(row: Run, counts: dict[int, Counter[str]]) -> str:
    """All of it in one line."""
    parts = dict(Message.objects.filter(step__run=row).values_list("pk", "parts"))
    destinations = sum(one.total() // parts[pk] for pk, one in counts.items())
    return account(sum(counts.values(), Counter()), destinations)


def _steps(row: Run, counts: dict[int, Counter[str]]) -> list[Done]:
    """Results and payloads are contents, and stay where they are."""
    steps = list(row.steps.defer("result").order_by("pk")[:STEPS])
    owed: dict[int, list[Owed]] = {}
    messages = Message.objects.filter(step__in=steps).defer("payload", "contract")
    for message in messages.select_related("channel"):
        mine = counts.get(message.pk, Counter())
        one = Owed(
            message, account(mine, mine.total() // message.parts), mine[DeliveryStatus.UNKNOWN]
        )
        owed.setdefault(message.step_id, []).append(one)
    return [_done(step, owed.get(step.pk, [])) for step in steps]


def _done(step: Step, owed: list[Owed]) -> Done:
    names = {one.message.name for one in owed}
    return Done(step, tuple(owed), tuple(n for n in step.announces if n not in names))


def _statuses(counts: dict[int, Counter[str]]) -> list[tuple[str, int]]:
    total = sum(counts.values(), Counter())
    return [(status, total[status]) for status in STATUSES if total[status]]


def _wanted(status: str) -> str:
    """A status that is not known matches nothing, and says so."""
    return status if status in STATUSES or not status else "none"


def _listed(row: Run, wanted: str, after: str) -> list[Delivery]:
    rows = Delivery.objects.filter(message__step__run=row).select_related("message__channel")
    delivered = DeliveryStatus.DELIVERED
    rows = rows.filter(status=wanted) if wanted else rows.exclude(status=delivered)
    if after.isascii() and after.isdigit() and len(after) < 19:
        rows = rows.filter(pk__gt=int(after))
    return list(rows.defer("message__payload", "message__contract").order_by("pk")[: PAGE + 1])


def _events(row: Run) -> Any:
    return Event.objects.filter(run=row).select_related("step").defer("inputs").order_by("-pk")
