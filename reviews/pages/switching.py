"""Pause and resume one channel, hold and release everything; each with a reason."""

from collections.abc import Callable
from datetime import datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse

from delivery import switches
from delivery.errors import SwitchError
from ledgers.trail import log
from reviews.pages.channels import find_channel
from reviews.pages.registry import page
from reviews.refusals import actor
from reviews.wording import moment_in


@page("pause", "channels/<slug:slug>/pause/", "operate_channels", kind="action")
def pause(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Nothing new goes out through this channel."""
    row = find_channel(slug)

    def act() -> str:
        switches.pause(row, reason(request), actor(request))
        return f"The channel {slug} is paused. What is owed waits."

    return done(request, act, reverse("admin:channel", args=[slug]))


@page("resume", "channels/<slug:slug>/resume/", "operate_channels", kind="action")
def resume(request: HttpRequest, slug: str) -> HttpResponseBase:
    """What is owed goes on."""
    row = find_channel(slug)

    def act() -> str:
        switches.resume(row, seen(request), reason(request), actor(request))
        return f"The channel {slug} is open again."

    return done(request, act, reverse("admin:channel", args=[slug]))


@page("hold", "hold/", "operate_channels", kind="action")
def hold(request: HttpRequest) -> HttpResponseBase:
    """Nothing goes out at all."""

    def act() -> str:
        switches.hold(reason(request), actor(request))
        return "Everything is held. Running workers stop within five seconds."

    return done(request, act, reverse("admin:channels"))


@page("release", "release/", "operate_channels", kind="action")
def release(request: HttpRequest) -> HttpResponseBase:
    """The hold of everything ends."""

    def act() -> str:
        switches.release(seen(request), reason(request), actor(request))
        return "Nothing is held any more. Paused channels stay paused."

    return done(request, act, reverse("admin:channels"))


def done(request: HttpRequest, act: Callable[[], str], back: str) -> HttpResponseBase:
    """Turn a switch, and lead back; a refusal is told, and kept in the trail.

    Args:
        request: of the person who turns it.
        act: turns it, and gives the words for it.
        back: the address to go on to.
    """
    try:
        messages.success(request, act())
    except SwitchError as error:
        name = request.resolver_match.url_name if request.resolver_match else ""
        log("refuse", actor(request), detail={"page": name, "why": str(error)})
        messages.error(request, str(error))
    return HttpResponseRedirect(back)


def reason(request: HttpRequest) -> str:
    """Why, as it was typed."""
    return request.POST.get("reason", "")


def seen(request: HttpRequest) -> datetime | None:
    """The moment of the pause or hold that the form was about."""
    return moment_in(request.POST.get("seen", ""))
