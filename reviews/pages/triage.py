"""Triage: what may have arrived or not, by incident and then one by one, the most urgent first."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import OuterRef, Subquery
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse

from delivery.history import read
from delivery.ways import Ways
from ledgers.clock import database_now
from ledgers.errors import InvalidValueError
from ledgers.models import Delivery, Evidence
from reviews.assigning import assign, take_first
from reviews.gates import CAP
from reviews.incidents import (
    GROUPED,
    NOTHING,
    PAGE,
    Chosen,
    Incident,
    Place,
    arrived_since,
    chosen,
    frozen,
    incidents,
    listed,
    places,
)
from reviews.links import to_delivery
from reviews.pages.deciding import ANY, lacking, to_decision
from reviews.pages.registry import Menu, may, page
from reviews.pages.shown import fragment, show
from reviews.people import person_of
from reviews.plainly import BOUNDARIES
from reviews.refusals import actor
from reviews.selecting import select
from reviews.wording import moment_in

GROUPS = 20  # incidents shown as cards
ASKED = 50  # rows listed that are not sent and wait for a person
ERRORS = ("no answer", "the search failed", "broke off", "no credential", "answered 5", "cannot be")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the list."""

    row: Delivery
    closes: datetime | None
    since: datetime
    chip: str
    person: str


@page("triage", "triage/", menu=Menu("Now", "Triage", 20, "unknown"))
def triage(request: HttpRequest) -> HttpResponseBase:
    """The list never changes its order by itself: what is new waits above it."""
    which = listed(request.GET)
    found = places(which, after=request.GET.get("after", ""), limit=PAGE + 1)
    groups = [] if which is NOTHING else incidents(which.channel)
    context: dict[str, Any] = {
        "groups": groups[:GROUPS],
        "groups_more": max(0, len(groups) - GROUPS),
        "grouped": GROUPED,
        "grouped_all": sum(one.count for one in groups) >= GROUPED,
        "rows": _rows(found[:PAGE]),
        "asked": _asked() if which.whole and "after" not in request.GET else [],
        "which": which,
        "current": _current(groups, which),
        "more": _more(request, found) if len(found) > PAGE else "",
        "paged": "after" in request.GET,
        "now": database_now(),
        "may_triage": may(request, "triage"),
        "may_decide": any(may(request, one) for one in ANY),
    }
    return show(request, "console/triage.html", "Triage", context)


@page("triage_news", "triage/news/", kind="fragment")
def triage_news(request: HttpRequest) -> HttpResponseBase:
    """How many became unknown since the list was loaded."""
    since = moment_in(request.GET.get("since", ""))
    fresh = 0 if since is None else arrived_since(since)
    return fragment(request, "console/partials/news.html", {"fresh": fresh})


@page("triage_take", "triage/take/", "triage", kind="action")
def triage_take(request: HttpRequest) -> HttpResponseBase:
    """I take the whole incident."""
    rows = frozen(_incident(request))
    assign(list(rows), actor(request))
    messages.success(request, f"{len(rows)} are yours.")
    return HttpResponseRedirect(reverse("admin:triage"))


@page("triage_next", "triage/next/", "triage", kind="action")
def triage_next(request: HttpRequest) -> HttpResponseBase:
    """I take the most urgent one that nobody has taken, and go to it."""
    which = listed(request.POST)
    taken = take_first([place.id for place in places(which, limit=CAP)], actor(request))
    if taken is None:
        messages.warning(request, "Somebody has taken each of them. Nothing is left to take.")
        return HttpResponseRedirect(reverse("admin:triage"))
    return HttpResponseRedirect(to_delivery(Delivery.objects.get(pk=taken)))


@page("triage_select", "triage/select/", kind="action")
def triage_select(request: HttpRequest) -> HttpResponseBase:
    """Freeze an incident as it stands, and decide about all of it at once."""
    if refusal := lacking(request, *ANY):
        return refusal
    which = _incident(request)
    try:
        draft = select(person_of(request.user), frozen(which), which.about)
    except InvalidValueError:
        messages.warning(request, "Nothing of it is unknown any more.")
        return HttpResponseRedirect(reverse("admin:triage"))
    return HttpResponseRedirect(to_decision(draft.pk))


def _incident(request: HttpRequest) -> Chosen:
    """An incident must be named: an empty form is not everything."""
    return chosen(request.POST or {"channel": ""})


def _rows(found: list[Place]) -> list[Row]:
    by_id = _with_evidence(place.id for place in found)
    cases = {case.id: case for case in read(by_id, Ways())}
    return [
        Row(
            by_id[place.id],
            place.closes,
            place.since,
            _chip(by_id[place.id], can_look=cases[place.id].facts.policy.can_look_up),
            _person(by_id[place.id]),
        )
        for place in found
        if place.id in cases
    ]


def _with_evidence(ids: Any) -> dict[int, Any]:
    last = Evidence.objects.filter(delivery=OuterRef("pk")).order_by("-pk")
    rows = Delivery.objects.select_related("message__channel", "message__step__run", "assignment")
    return rows.annotate(
        last_verdict=Subquery(last.values("verdict")[:1]),
        last_why=Subquery(last.values("why")[:1]),
        last_at=Subquery(last.values("taken_at")[:1]),
    ).in_bulk(list(ids))


def _chip(row: Any, *, can_look: bool) -> str:
    """The last evidence in a word: found, absent, inconclusive, cannot look, error or none yet."""
    if row.last_verdict is None:
        return "none yet" if can_look else "cannot look"
    if row.last_verdict == "inconclusive" and any(word in row.last_why for word in ERRORS):
        return "error"
    return str(row.last_verdict)


def _person(row: Delivery) -> str:
    return row.assignment.person if hasattr(row, "assignment") else ""


def _asked() -> list[Delivery]:
    """What is provably not sent, and waits for a person to say whether it is to be."""
    rows = Delivery.objects.filter(status="pending", next_attempt_at=None).exclude(decision="leave")
    return list(rows.select_related("message__channel").order_by("pk")[:ASKED])


def _current(groups: list[Incident], which: Chosen) -> Incident | None:
    """The incident that the list is narrowed to."""
    if which.whole or which.since is None or which.until is None:
        return None
    for one in groups:
        if (one.channel, one.boundary, one.first) == (which.channel, which.boundary, which.since):
            return one
    words = BOUNDARIES.get(which.boundary, which.boundary)
    return Incident(which.channel, words, which.since, which.until, 0, None, (), 0)


def _more(request: HttpRequest, found: list[Place]) -> str:
    kept = {name: value for name, value in request.GET.items() if name != "after"}
    return urlencode(kept | {"after": found[PAGE - 1].cursor})
