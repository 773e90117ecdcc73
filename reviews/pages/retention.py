"""Retention: how much is kept, what would go, who let go what; and letting it go."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse

from delivery import retention
from delivery.retention import Plan
from delivery.timing import boottime
from ledgers import seals
from ledgers.clock import database_now
from ledgers.errors import InvalidValueError
from ledgers.models import Event
from ledgers.trail import log
from reviews.keeping import oldest, sizes
from reviews.pages.registry import Menu, may, page
from reviews.pages.shown import show
from reviews.refusals import actor
from reviews.remembered import LONG_S, forget, remembered
from reviews.roles import having

LOOKED_AT = 400  # runs of the dry run: a page must not take long
AT_ONCE_S = 5.0  # of purging within one request
RECEIPTS = 10


@page("retention", "retention/", menu=Menu("Look up", "Retention", 95))
def retained(request: HttpRequest) -> HttpResponseBase:
    """Sizes, the dry run, and the last receipts."""
    known: dict[str, Any] = remembered("retention", LONG_S, _known)
    context = known | {
        "days": settings.COUNTERFOIL_RETENTION_DAYS,
        "looked_at": LOOKED_AT,
        "receipts": Event.objects.filter(kind="purge").order_by("-pk")[:RECEIPTS],
        "may_purge": may(request, "purge"),
        "who_may": having("purge"),
    }
    return show(request, "console/retention.html", "Retention", context)


def _known() -> dict[str, Any]:
    found = sizes()
    return {
        "sizes": found,
        "total": sum(one.bytes for one in found),
        "oldest": oldest(),
        "plan": retention.plan(LOOKED_AT),
        "seen_at": database_now(),
    }


@page("retention_purge", "retention/purge/", "purge", kind="action")
def purge(request: HttpRequest) -> HttpResponseBase:
    """Let go what may, for some seconds; what is left takes another click, or the command."""
    try:
        done = _purged(actor(request), request.POST.get("reason", ""))
    except InvalidValueError as error:
        log("refuse", actor(request), detail={"page": "retention_purge", "why": str(error)})
        messages.error(request, str(error))
    else:
        messages.success(request, _told(done))
    forget("retention")
    return HttpResponseRedirect(reverse("admin:retention"))


def _purged(who: str, reason: str) -> Plan:
    seals.seal()
    done, end = Plan(), boottime() + AT_ONCE_S
    for sums in retention.purge(who, reason):
        done = sums
        if boottime() > end:
            done.whole = False
            break
    return done


def _told(done: Plan) -> str:
    text = (
        f"{_number(done.runs, 'run')} with {_number(done.deliveries, 'delivery', 'deliveries')}"
        f" purged, and {_number(done.unmatched, 'unmatched report')};"
        f" {_number(done.kept_runs, 'run')} kept although old enough."
    )
    return text if done.whole else f"{text} There is more: purge again, or by manage.py purge."


def _number(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
