"""What the trail is asked for, read from a query string.

A filter that is not understood matches nothing and says so: dropping it would show everything, and
look as if that were the answer.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.db.models import F, Q, QuerySet
from django.http import QueryDict

from ledgers.clock import database_now
from ledgers.finding import matching
from ledgers.models import Delivery, Event, Run
from ledgers.models.trail import BY_PEOPLE, ENDED, ENDS
from ledgers.states import MOVES

LONGEST = 1_000  # characters
SPANS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7),
         "month": timedelta(days=30), "all": None}  # fmt: skip
USUAL_SPAN = "week"
# What people filter by most; any other kind may be typed.
KINDS = (*(move.name for move in MOVES), "hold", "ask", "pause", "resume", "hold_all",
         "release_all", "refuse", "view_payload", "export", "prove", "purge", "purge_reports",
         "erase_payload", "erase_result", "erase_answer", "add_channel", "change_channel",
         "add_credential", "change_credential", "proposal_request", "proposal_approve",
         "proposal_refuse")  # fmt: skip

Reader = Callable[[str], Q]


class NotUnderstoodError(ValueError):
    """A filter's value that means nothing; the message says what would."""


def _person(text: str) -> Q:
    """Said twice where it is a person's name, so that the index of people's events serves it."""
    return Q(actor=text) if ":" in text or text == "agent" else Q(actor=text) & BY_PEOPLE


def _kind(text: str) -> Q:
    return Q(kind=text)


def _people(text: str) -> Q:
    if text != "only":
        raise NotUnderstoodError("write people=only")
    return BY_PEOPLE


def _credential(text: str) -> Q:
    """What was sent with it, and what was done to it."""
    return Q(attempt__authority__credential=text) | Q(detail__credential=text)


def _channel(text: str) -> Q:
    """What went through it, and what was done to it."""
    return Q(delivery__message__channel__slug=text) | Q(detail__channel=text)


def _proposal(text: str) -> Q:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise NotUnderstoodError("write the number of a proposed change")
    return Q(detail__proposal=int(text))


def _scope(text: str) -> Q:
    return Q(attempt__authority__scopes_granted__contains=[text]) | Q(
        attempt__authority__scopes_used__contains=[text]
    )


def _destination(text: str) -> Q:
    if text.endswith("*"):
        return Q(delivery__destination__startswith=text[:-1])
    return Q(delivery__destination=text)


def _run(text: str) -> Q:
    """Two searches put together: with one OR over both joins, every event would be read."""
    run = Run.objects.filter(run_id=text).first()
    if run is None:
        return Q(pk__in=())
    mine = Delivery.objects.filter(message__step__run=run)
    own = Event.objects.filter(run=run).values("pk")
    return Q(pk__in=own.union(Event.objects.filter(delivery__in=mine).values("pk")))


def _delivery(text: str) -> Q:
    return Q(delivery__in=matching(text))


def _hour(text: str) -> Q:
    try:
        start = datetime.strptime(text, "%Y-%m-%dT%H").replace(tzinfo=UTC)
    except ValueError:
        raise NotUnderstoodError("write an hour as 2026-11-29T14, in UTC") from None
    return Q(at__gte=start, at__lt=start + timedelta(hours=1))


def _became(text: str) -> Q:
    """Changes to a status at which deliveries come to rest: what the chart of hours counts."""
    if text not in {"any", *ENDED}:
        raise NotUnderstoodError(f"write any, or one of {', '.join(ENDED)}")
    return ENDS if text == "any" else ENDS & Q(to_status=text)


def _since(text: str) -> Q:
    if text not in SPANS:
        raise NotUnderstoodError(f"write one of {', '.join(SPANS)}")
    span = SPANS[text]
    return Q() if span is None else Q(at__gte=database_now() - span)


def _before(text: str) -> Q:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise NotUnderstoodError("write the number of an event")
    return Q(pk__lt=int(text))


READERS: dict[str, Reader] = {
    "person": _person,
    "people": _people,
    "kind": _kind,
    "credential": _credential,
    "channel": _channel,
    "proposal": _proposal,
    "scope": _scope,
    "destination": _destination,
    "delivery": _delivery,
    "run": _run,
    "hour": _hour,
    "became": _became,
    "since": _since,
    "before": _before,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """The filters in force. `problems`: what was not understood; then nothing matches."""

    given: dict[str, str]
    condition: Q = field(default_factory=Q)
    problems: tuple[str, ...] = ()

    def events(self) -> QuerySet[Event]:
        """What matches, the latest first."""
        rows = Event.objects.order_by("-pk")
        if "hour" in self.given:
            # By the key's own index, the trail would be read from its end until that hour comes.
            rows = Event.objects.order_by((F("pk") + 0).desc())
        return rows.none() if self.problems else rows.filter(self.condition)


def asked(query: QueryDict) -> Asked:
    """Read the filters. Empty ones are no filters; an hour needs no other span."""
    given = {name: text for name in query if (text := query.get(name, "").strip())}
    if "hour" not in given:
        given.setdefault("since", USUAL_SPAN)
    condition, problems = Q(), []
    for name, text in given.items():
        try:
            condition &= _read(name, text)
        except NotUnderstoodError as error:
            problems.append(f"{name[:40]}: {error}.")
    return Asked(given, condition, tuple(problems))


def _read(name: str, text: str) -> Q:
    if name not in READERS:
        raise NotUnderstoodError(f"there is no such filter; known are {', '.join(READERS)}")
    if len(text) > LONGEST or not text.isprintable():
        raise NotUnderstoodError("this text cannot be in the trail")
    return READERS[name](text)
