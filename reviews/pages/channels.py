"""Channels and credentials: what each can do, how far it reaches, and the switches."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from ledgers.models import Channel
from reviews.pages.registry import Menu, page
from reviews.pages.shown import show


@page("channels", "channels/", menu=Menu("Ways out", "Channels", 10, "paused"))
def channels(request: HttpRequest) -> HttpResponseBase:
    rows = Channel.objects.select_related("credential")
    return show(request, "console/channels.html", "Channels and credentials", {"channels": rows})
