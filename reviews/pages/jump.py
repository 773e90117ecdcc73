"""The jump box: a term is recognised by its shape, and leads straight to what it names."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse

from ledgers.finding import matching, sought
from ledgers.models import Delivery, Run
from reviews.links import to_delivery, to_run
from reviews.pages.registry import page
from reviews.pages.shown import show

FOUND_SHOWN = 25


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that the term names."""

    kind: str
    label: str
    url: str
    status: str


@page("jump", "jump/")
def jump(request: HttpRequest) -> HttpResponseBase:
    """Go to the one thing that is meant, or show what it could be."""
    term = request.GET.get("q", "").strip()
    found = list(_meant(term)) if term.isprintable() else []
    if len(found) == 1:
        return HttpResponseRedirect(found[0].url)
    if not found and _is_listed(request, term):
        address = reverse("admin:ledgers_delivery_changelist")
        return HttpResponseRedirect(f"{address}?{urlencode({'q': term})}")
    context = {"jumped": term, "found": found[:FOUND_SHOWN], "more": len(found) > FOUND_SHOWN}
    return show(request, "console/jump.html", "Find", context)


def _is_listed(request: HttpRequest, term: str) -> bool:
    """Whether the list of deliveries finds it: the beginning of a destination, or a domain."""
    if not term or not term.isprintable() or not request.user.has_perm("ledgers.view_delivery"):
        return False
    return Delivery.objects.filter(sought(term)).exists()


def _meant(term: str) -> Iterator[Found]:
    if not term:
        return
    run = Run.objects.filter(run_id=term).first()
    if run is not None:
        yield Found("run", run.run_id, to_run(run), run.status)
    rows = list(matching(term)[: FOUND_SHOWN + 1])
    for row in rows or Delivery.objects.filter(destination=term)[: FOUND_SHOWN + 1]:
        yield Found("delivery", row.destination, to_delivery(row), row.status)
