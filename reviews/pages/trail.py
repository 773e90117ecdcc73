"""The trail: who moved or decided what, when, with which authority; and its export."""

from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from ledgers.clock import database_now
from ledgers.trail import log
from reviews.exports import FORMATS
from reviews.keeping import sealing
from reviews.pages.registry import Menu, may, page
from reviews.pages.shown import show
from reviews.refusals import actor
from reviews.remembered import LONG_S, remembered
from reviews.trail_filters import KINDS, SPANS, Asked, asked

SHOWN = 50
# What a page does not show, and what would make it slow to read.
HEAVY = (
    "inputs", "attempt__response", "attempt__error", "run__error", "delivery__message__payload",
    "delivery__message__contract", "delivery__message__channel__settings",
)  # fmt: skip


@page("trail", "trail/", menu=Menu("Look up", "Trail", 90))
def trail(request: HttpRequest) -> HttpResponseBase:
    """One page of events, the latest first; older ones by the number of the last one shown."""
    return _shown(request, asked(request.GET))


def _shown(request: HttpRequest, filters: Asked) -> HttpResponseBase:
    rows = list(_with_names(filters)[: SHOWN + 1])
    context: dict[str, Any] = {
        "filters": filters,
        "events": rows[:SHOWN],
        "older": _query(filters, before=str(rows[SHOWN - 1].pk)) if len(rows) > SHOWN else "",
        "newest": _query(filters) if "before" in filters.given else "",
        "query": _query(filters),
        "kinds": KINDS,
        "spans": SPANS,
        "formats": FORMATS,
        "may_export": may(request, "export_trail"),
        "sealing": remembered("sealing", LONG_S, sealing),
    }
    status = 400 if filters.problems else 200
    return show(request, "console/trail.html", "Trail", context, status=status)


@page("trail_export", "trail/export/<slug:form>/", "export_trail", kind="export")
def trail_export(request: HttpRequest, form: str) -> HttpResponseBase:
    """The same events, to take away. That somebody took them is an event itself."""
    if form not in FORMATS:
        raise Http404(f"There is no export called {form}.")
    kind, ending, made = FORMATS[form]
    filters = asked(request.GET)
    if filters.problems:
        return _shown(request, filters)
    log("export", actor(request), detail={"format": form, "filters": dict(filters.given)})
    name = f"trail-{database_now():%Y%m%d-%H%M%S}.{ending}"
    return StreamingHttpResponse(
        made(filters.events(), filters.given),
        content_type=kind,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _with_names(filters: Asked) -> Any:
    names = ("run", "delivery__message__channel", "attempt")
    return filters.events().select_related(*names).defer(*HEAVY)


def _query(filters: Asked, **more: str) -> str:
    kept = {name: text for name, text in filters.given.items() if name != "before"}
    return urlencode(kept | more)
