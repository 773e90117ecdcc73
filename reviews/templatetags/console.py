"""One tag per fact that more than one page shows."""

import json
from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from ledgers.admin.tables import content
from ledgers.looks import look
from ledgers.models import Event
from reviews.verbs import verb
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
    return format_html(_STATUS, shown.tone, shown.glyph, word or shown.word)


@register.simple_tag
def moment(at: datetime | None, empty: str = "never") -> SafeString:
    """A moment: how long ago, with the exact one (and its zone) beside it."""
    if at is None:
        return format_html('<span class="cf-quiet">{}</span>', empty)
    return format_html(_TIME, at.isoformat(), exactly(at), ago(at, timezone.now()))


# No templates of their own: a list shows hundreds of them.
_STATUS = (
    '<span class="cf-status cf-{}"><svg class="cf-glyph" aria-hidden="true"><use href="#cf-{}" />'
    "</svg>{}</span>"
)
_TIME = '<time class="cf-time" datetime="{}" title="{}">{}</time>'


register.filter("verb", verb)


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
