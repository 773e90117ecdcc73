"""One tag per fact that more than one page shows."""

import json
from datetime import datetime
from typing import Any

from django import template
from django.template.loader import get_template
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from ledgers.admin.tables import content
from ledgers.looks import look
from ledgers.models import Event
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


@register.simple_tag
def status(value: str, word: str = "") -> SafeString:
    """A status as its glyph, its word and its colour."""
    shown = look(str(value))
    return _part("status", {"look": shown, "word": word or shown.word})


@register.simple_tag
def moment(at: datetime | None, empty: str = "never") -> SafeString:
    """A moment: how long ago, with the exact one (and its zone) beside it."""
    if at is None:
        return _part("time", {"at": None, "empty": empty})
    words = {"at": at, "relative": ago(at, timezone.now()), "absolute": exactly(at)}
    return _part("time", words)


def _part(name: str, context: dict[str, Any]) -> SafeString:
    """A partial without the line end of its file, which would stand before a full stop."""
    text = get_template(f"console/partials/{name}.html").render(context)
    return mark_safe(text.strip())  # noqa: S308  a template's own output


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


@register.filter(name="json")
def as_json(value: object) -> str:
    """A value of a row, as one writes it."""
    return json.dumps(value, ensure_ascii=False, default=str)


register.filter("exactly", exactly)
