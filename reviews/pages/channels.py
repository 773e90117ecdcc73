"""Channels and credentials: what each can do, how far it reaches, and its switch."""

from typing import Any

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase

from delivery.switches import HELD, PAUSED
from ledgers.models import Channel, Credential, Installation
from reviews.capability import capability
from reviews.charts.schedule import schedule_of
from reviews.foresight import foresee
from reviews.numbers import per_channel
from reviews.pages.registry import Menu, may, page
from reviews.pages.shown import show


@page("channels", "channels/", menu=Menu("Ways out", "Channels", 10, "paused"))
def channels(request: HttpRequest) -> HttpResponseBase:
    """All ways out, and the switch of everything."""
    numbers = per_channel()
    rows = [
        (capability(one), numbers.get(one.pk))
        for one in Channel.objects.select_related("credential")
    ]
    held = Installation.objects.filter(held_at__isnull=False).first()
    context: dict[str, Any] = {
        "rows": rows,
        "held": held,
        "foresight": foresee([one.channel.pk for one, _ in rows], HELD) if held else None,
        "may_switch": may(request, "operate_channels"),
    }
    return show(request, "console/channels.html", "Channels", context)


@page("channel", "channels/<slug:slug>/")
def channel(request: HttpRequest, slug: str) -> HttpResponseBase:
    """One way out."""
    row = find_channel(slug)
    one = capability(row)
    context: dict[str, Any] = {
        "one": one,
        "schedule": schedule_of(one) if one.drawable else None,
        "numbers": per_channel().get(row.pk),
        "foresight": foresee([row.pk], PAUSED) if row.paused_at else None,
        "may_switch": may(request, "operate_channels"),
        "may_edit": request.user.has_perm("ledgers.change_channel"),
    }
    return show(request, "console/channel.html", f"Channel {row.slug}", context)


@page("credentials", "credentials/", menu=Menu("Ways out", "Credentials", 20))
def credentials(request: HttpRequest) -> HttpResponseBase:
    """All authorities, by reference; the secrets themselves are nowhere here."""
    rows = Credential.objects.prefetch_related("channels")
    context = {"rows": rows, "may_edit": request.user.has_perm("ledgers.change_credential")}
    return show(request, "console/credentials.html", "Credentials", context)


def find_channel(slug: str) -> Channel:
    """The channel of this name, or a 404."""
    row = Channel.objects.select_related("credential").filter(slug=slug).first()
    if row is None:
        raise Http404(f"There is no channel {slug}.")
    return row
