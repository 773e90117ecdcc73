"""One tag per fact that more than one page shows."""

import json
from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone
from django.utils.safestring import SafeString

from ledgers.admin.tables import content
from ledgers.models import Event
from reviews.looks import look
from reviews.wording import ago, duration, exactly

register = template.Library()

HTMX = {
    "includeIndicatorStyles": False,
    "allowEval": False,
    "selfRequestsOnly": True,
    "historyCacheSize": 0,
}


@register.simple_tag
def htmx_config() -> str:
    """htmx as the content security policy wants it, as JSON for its meta element."""
    return json.dumps(HTMX)


@register.inclusion_tag("console/partials/status.html")
def status(value: str, word: str = "") -> dict[str, Any]:
    """A status as its glyph, its word and its colour."""
    shown = look(str(value))
    return {"look": shown, "word": word or shown.word}


@register.inclusion_tag("console/partials/time.html")
def moment(at: datetime | None, empty: str = "never") -> dict[str, Any]:
    """A moment: how long ago, with the exact one (and its zone) beside it."""
    if at is None:
        return {"at": None, "empty": empty}
    return {"at": at, "relative": ago(at, timezone.now()), "absolute": exactly(at)}


@register.filter
def since(at: datetime | None) -> str:
    """A moment as plain words, where it stands inside a link."""
    return ago(at, timezone.now()) if at else ""


@register.filter
def seconds(value: float | None) -> str:
    """A number of seconds in words."""
    return "" if value is None else duration(value)


@register.filter
def detail(event: Event) -> str:
    """What an event adds to its kind, in a few words."""
    words = (f"{name}: {_plain(value)}" for name, value in event.detail.items() if value)
    return ", ".join(words)[:300]


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={part}" for name, part in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


@register.filter
def capped(text: str | None) -> SafeString | str:
    """Remote text: escaped, and no more of it than anybody reads."""
    return content(text)


register.filter("exactly", exactly)
