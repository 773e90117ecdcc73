"""Approvals: what waits for me, what I asked for, and what was decided lately."""

from typing import Any

from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from ledgers.clock import database_now
from reviews.kinds import Gate, Stage
from reviews.pages.registry import Menu, may, page
from reviews.pages.shown import show
from reviews.people import Person, person_of
from reviews.proposals import Proposal
from reviews.records import Decision

LATELY = 30
WAITING = 100


@page("approvals", "approvals/", menu=Menu("Now", "Approvals", 30, "waiting"))
def approvals(request: HttpRequest) -> HttpResponseBase:
    """Each with what it is about, why, and how long it still waits."""
    person, now = person_of(request.user), database_now()
    waiting = list(_decisions(stage=Stage.REQUESTED, expires_at__gt=now)[:WAITING])
    changes = list(_changes(stage=Stage.REQUESTED, expires_at__gt=now)[:WAITING])
    context: dict[str, Any] = {
        "for_me": [one for one in waiting if _is_for(one, person)],
        "mine": [one for one in waiting if person.asked_for(one)],
        "lately": list(
            _decisions().exclude(stage=Stage.DRAFT).exclude(pk__in=[w.pk for w in waiting])[:LATELY]
        ),
        "changes_for_me": [one for one in changes if _is_for(one, person)],
        "changes_mine": [one for one in changes if person.asked_for(one)],
        "changes_lately": _changes_lately([one.pk for one in changes]),
        "now": now,
        "may_approve": may(request, "approve"),
    }
    return show(request, "console/approvals.html", "Approvals", context)


def _changes(**filters: Any) -> QuerySet[Proposal]:
    rows = Proposal.objects.filter(**filters)
    return rows.select_related("channel", "credential").order_by("-pk")


def _changes_lately(waiting: list[int]) -> list[Proposal]:
    return list(_changes().exclude(stage=Stage.DRAFT).exclude(pk__in=waiting)[:LATELY])


def _is_for(one: Decision | Proposal, person: Person) -> bool:
    return not person.asked_for(one) or one.gate == Gate.ALONE


def _decisions(**filters: Any) -> QuerySet[Decision]:
    return Decision.objects.filter(**filters).annotate(number=Count("rows")).order_by("-pk")
