"""Long text in parts that a provider takes, without losing or splitting a character.

The parts joined are the text again, always. So a part ends at a line's or a word's end where one
is near, but the white space stays, at the end of the part before.
"""

from collections.abc import Callable, Iterator
from typing import Literal

Unit = Literal["utf16", "code_points", "bytes"]

# What one code point costs. UTF-16 is what JavaScript services and Telegram count in.
_COST: dict[Unit, Callable[[str], int]] = {
    "utf16": lambda char: 2 if char > "\uffff" else 1,
    "code_points": lambda char: 1,
    "bytes": lambda char: len(char.encode()),
}
_NEAR = 0.5  # a line or word boundary is preferred only in the latter half of a part
_JOINERS = "\u200d\ufe0e\ufe0f"  # joins emoji, or selects how one looks


def size(text: str, unit: Unit) -> int:
    """How long a text is in this unit."""
    return sum(map(_COST[unit], text))


def split_text(text: str, limit: int, unit: Unit) -> list[str]:
    """The text in parts of at most `limit` units; one part, perhaps empty, where it fits.

    Args:
        text: without lone surrogates.
        limit: at least 4, the longest code point in bytes.
        unit: `utf16` code units, `code_points`, or UTF-8 `bytes`.

    Raises:
        ValueError: if the limit is too small for a single code point.
    """
    if limit < 4:
        raise ValueError(f"a limit of {limit} cannot hold every character; use 4 or more")
    return list(_parts(text, limit, _COST[unit])) or [""]


def _parts(text: str, limit: int, cost: Callable[[str], int]) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = _furthest(text, start, limit, cost)
        if end < len(text):
            end = _boundary(text, start, end)
        yield text[start:end]
        start = end


def _furthest(text: str, start: int, limit: int, cost: Callable[[str], int]) -> int:
    used, end = 0, start
    while end < len(text) and (used := used + cost(text[end])) <= limit:
        end += 1
    return end


def _boundary(text: str, start: int, end: int) -> int:
    """A better end than `end`: after a line, else after a word, else where no emoji breaks."""
    earliest = start + int((end - start) * _NEAR)
    for mark in ("\n", " "):
        found = text.rfind(mark, earliest, end)
        if found >= 0:
            return found + 1
    better = end
    while better > earliest and _is_joined(text, better):
        better -= 1
    return better if better > earliest else end


def _is_joined(text: str, at: int) -> bool:
    return text[at] in _JOINERS or text[at - 1] == "\u200d"
