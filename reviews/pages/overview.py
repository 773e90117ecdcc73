"""The home page: is anything unsafe, is anything silent; how much went through comes last."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from delivery.credentials import shut_channels
from ledgers.clock import database_now
from ledgers.models import Channel, Delivery
from reviews.alarming import Alarms, alarms
from reviews.attention import BY_NAME, Count, counts, rows_of
from reviews.charts.ages import ages
from reviews.charts.hours import hours_chart
from reviews.glance import Glance, glance
from reviews.liveness import Sign, signs
from reviews.numbers import per_channel
from reviews.pages.registry import Menu, page
from reviews.pages.shown import fragment, show
from reviews.remembered import LONG_S, SHORT_S, remembered

CLOSING_SHOWN = 8


@page("overview", "", menu=Menu("Now", "Overview", 10))
def overview(request: HttpRequest) -> HttpResponseBase:
    """The whole page, with what the fragment shows in it: it works without JavaScript."""
    return show(request, "console/overview.html", "Overview", _context())


@page("overview_live", "overview/live/", kind="fragment")
def overview_live(request: HttpRequest) -> HttpResponseBase:
    """What changes."""
    return fragment(request, "console/overview_live.html", _context())


def _context() -> dict[str, Any]:
    numbers: list[Count] = remembered("counts", SHORT_S, counts)
    workers: list[Sign] = remembered("workers", SHORT_S, signs)
    channels = remembered("channels", SHORT_S, _channels)
    ways: Alarms = remembered("alarms", SHORT_S, alarms)
    whole: Glance = remembered("glance", SHORT_S, glance)
    unsafe = [c for c in numbers if c.concern.question == "unsafe"]
    silent = [c for c in numbers if c.concern.question == "silent"]
    return {
        "unsafe": unsafe,
        "unsafe_now": [c for c in unsafe if c.number],
        "silent": silent,
        "silences": [*_silences(silent, workers, channels, whole), *ways.silences],
        "held_at": whole.held_at,
        "alarms": ways,
        "alive": sum(one.state == "alive" for one in workers),
        "workers": workers,
        "closing": remembered("closing", SHORT_S, _closing),
        "channels": channels,
        "shut": remembered("shut", SHORT_S, shut_channels),
        "hours": remembered("chart", LONG_S, lambda: hours_chart(database_now())),
        "ages": remembered("ages", SHORT_S, ages),
        "waiting": whole.waiting,
        "updated": remembered("updated", SHORT_S, database_now),
    }


def _silences(
    silent: Sequence[Count], workers: Sequence[Sign], channels: Any, whole: Glance
) -> list[str]:
    """What is silent now, in words."""
    words = ["everything is held"] if whole.held_at else []
    words += [] if any(one.state == "alive" for one in workers) else ["no worker is alive"]
    words += [f"{c.shown} {c.concern.title.lower()}" for c in silent if c.number]
    mute = [row.slug for row, numbers in channels if _is_mute(row, numbers)]
    return [*words, *(f"no success lately on {slug}" for slug in mute)]


def _is_mute(row: Channel, numbers: Any) -> bool:
    """It is used and brings nothing through, although nobody stopped it and it is no practice."""
    used = numbers and numbers.used and not numbers.last_success
    return bool(used) and not row.paused_at and not row.for_testing


def _channels() -> list[tuple[Channel, Any]]:
    numbers = per_channel()
    return [(row, numbers.get(row.pk)) for row in Channel.objects.all()]


def _closing() -> list[tuple[Delivery, datetime]]:
    """The unknown deliveries whose key stops protecting first."""
    first = rows_of(BY_NAME["closing"])[:CLOSING_SHOWN]
    found = Delivery.objects.select_related("message__channel").in_bulk([pk for pk, _ in first])
    return [(found[pk], closes) for pk, closes in first if pk in found]
