"""What the admin's pages are made of: links, tables of facts, capped content. All of it escaped."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Model
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from ledgers.looks import look

CONTENT_SHOWN = 4_000  # characters
ROWS_SHOWN = 100

Cell = Any  # text, a number, a moment, a link; escaped unless it is markup already


def link(row: Model | None, text: object = None) -> SafeString | str:
    """A link to the page of a row."""
    if row is None:
        return ""
    url = reverse(f"admin:{_name(type(row))}_change", args=[row.pk])
    return format_html('<a href="{}">{}</a>', url, row if text is None else text)


def listed(model: type[Model], text: object, **lookups: object) -> SafeString:
    """A link to a list of rows, filtered."""
    url = reverse(f"admin:{_name(model)}_changelist")
    query = "&".join(f"{name}={value}" for name, value in lookups.items())
    return format_html('<a href="{}?{}">{}</a>', url, query, text)


def _name(model: type[Model]) -> str:
    options = model._meta  # noqa: SLF001  a documented interface in spite of its name
    return f"{options.app_label}_{options.model_name}"


def facts(headers: Sequence[str], rows: Iterable[Sequence[Cell]], nothing: str) -> SafeString:
    """A table, or the words for an empty one."""
    body = [(_row(row),) for row in rows]
    if not body:
        return format_html(
            '<table class="facts"><tbody><tr><td>{}</td></tr></tbody></table>', nothing
        )
    return format_html(
        '<table class="facts"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>',
        format_html_join("", "<th>{}</th>", ((header,) for header in headers)),
        format_html_join("", "<tr>{}</tr>", body),
    )


def _row(cells: Sequence[Cell]) -> SafeString:
    return format_html_join("", "<td>{}</td>", ((_shown(cell),) for cell in cells))


def _shown(cell: Cell) -> Cell:
    if isinstance(cell, datetime):
        return moment(cell)
    return "" if cell is None else cell


def moment(at: datetime | None) -> str:
    """To the millisecond: the order of what happened is what these pages are for."""
    return f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d} UTC" if at else ""


def status(value: str, meaning: str = "") -> SafeString:
    """A status as its glyph, its word and its tone, with what it means beside it."""
    shown = look(value)
    return format_html(
        '<span class="cf-status cf-{}"><svg class="cf-glyph" aria-hidden="true">'
        '<use href="#cf-{}" /></svg>{}</span>{}',
        shown.tone,
        shown.glyph,
        shown.word,
        f": {meaning}" if meaning else "",
    )


def content(text: str | None, empty: str = "") -> SafeString | str:
    """Text as it is, capped and escaped."""
    if not text:
        return empty
    more = len(text) - CONTENT_SHOWN
    tail = f"\n… and {more} more characters" if more > 0 else ""
    return format_html('<pre class="content" tabindex="0">{}{}</pre>', text[:CONTENT_SHOWN], tail)


def as_json(value: object) -> SafeString | str:
    """A JSON value, indented."""
    return content(json.dumps(value, indent=1, ensure_ascii=False) if value else "")
