"""Channels to the recipient, and what was seen there."""

from typing import Any

from delivery.simulator.client import Simulator
from ledgers.models import Attempt, Channel
from tests.factories import make_channel

SECOND, MINUTE, HOUR, DAY = 1, 60, 3600, 86_400
LONG = 10 * HOUR  # longer than any pause of these tests


def rooms(recipient: Simulator, slug: str = "alerts", **fields: Any) -> Channel:
    """A channel to the recipient's rooms. It is given no key to honour and searches nothing."""
    settings = {"url": recipient.url} | fields.pop("settings", {})
    return make_channel(slug, adapter="simulator", settings=settings, **fields)


def hooks(slug: str = "alerts", **fields: Any) -> Channel:
    """A channel of webhooks, to `recipient.hook(…)` or any other address of this machine."""
    settings = {"allow_private": True, "allow_http": True} | fields.pop("settings", {})
    return make_channel(slug, adapter="webhook", settings=settings, **fields)


def wire(recipient: Simulator, to: str) -> list[str]:
    """What each submission to this destination was met with, in order."""
    return [str(one["did"]) for one in recipient.last_submissions(to, 1000)]


def outcomes(destination: str) -> list[str]:
    """What each attempt at this destination came to, in order."""
    attempts = Attempt.objects.filter(delivery__destination=destination).order_by("number")
    return [attempt.outcome for attempt in attempts]
