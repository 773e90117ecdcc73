"""The list behind a card of the overview: exactly the rows that it counted."""

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase

from ledgers.models import Delivery
from reviews.attention import BY_NAME, LISTED, rows_of
from reviews.pages.channels import find_channel
from reviews.pages.registry import page
from reviews.pages.shown import show


@page("concern", "attention/<slug:name>/")
def concern(request: HttpRequest, name: str) -> HttpResponseBase:
    """The oldest rows of one concern, of one channel if the address names one."""
    if name not in BY_NAME:
        raise Http404(f"There is no list called {name}.")
    one = BY_NAME[name]
    slug = request.GET.get("channel")
    channel = None if slug is None else find_channel(slug)
    ids = rows_of(one, channel.slug if channel else None)
    rows = Delivery.objects.select_related("message__channel", "message__step__run")
    found = rows.in_bulk([pk for pk, _ in ids])
    context = {
        "concern": one,
        "channel": channel,
        "rows": [(found[pk], since) for pk, since in ids if pk in found],
        "capped": len(ids) == LISTED,
    }
    return show(request, "console/concern.html", one.title, context)
