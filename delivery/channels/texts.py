"""Content of channels that show text: a text, or an object with the text under "text"."""

import re
from typing import Any

from delivery.channels.splitting import Unit, split_text
from delivery.errors import BadContentError

Json = Any
RIGHT = 'a text, or an object with the text under "text"'


def text_of(content: Json) -> str:
    """The text in a content.

    Raises:
        BadContentError: if there is none, or only white space.
    """
    text = content.get("text") if isinstance(content, dict) else content
    if not isinstance(text, str):
        raise BadContentError("content", f"has no text: {type(content).__name__}", RIGHT)
    if not text.strip():
        raise BadContentError("content", "is an empty text", RIGHT)
    return text


def split_content(content: Json, limit: int, unit: Unit) -> list[Json]:
    """The content in numbered parts of the same shape; everything but the text is in each.

    Args:
        content: as the agent recorded it.
        limit: the most units of text in a part; 0 is no limit.
        unit: see `splitting.split_text`.
    """
    parts = split_text(text_of(content), limit, unit) if limit else [text_of(content)]
    if isinstance(content, dict):
        return [{**content, "text": part} for part in parts]
    return list(parts)


# Kept free in each part: a line end, `ref `, 25 characters, and an approved resend's mark.
VISIBLE_LINE = 120


def visible_line(recognizer: str, marker: str) -> str:
    """The last line of a visible text: the recognizer, and the mark of an approved resend."""
    return f"ref {recognizer}" + (f" ({marker})" if marker else "")


_LINE = re.compile(r"(?<![a-z0-9])ref ([a-z][a-z0-9]{19,24})(?![a-z0-9])")


def signed_by_another(text: str, recognizer: str) -> bool:
    """Whether a text ends with the line of another message: what it says before is a quotation."""
    lines = _LINE.findall(text)
    return bool(lines) and lines[-1] != recognizer


def mentions(text: str, recognizer: str) -> bool:
    """Whether a text carries this recognizer as a word of its own."""
    return re.search(rf"(?<![a-z0-9]){re.escape(recognizer)}(?![a-z0-9])", text) is not None
