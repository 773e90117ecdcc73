"""Plain text for a terminal: aligned tables, ages, and nothing that a terminal would obey."""

import shutil
import unicodedata
from collections.abc import Sequence
from datetime import datetime

GAP = "  "


def plain(value: object) -> str:
    """One line that a terminal shows and does not obey: remote text may hold control codes."""
    text = "" if value is None else str(value)
    return "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Aligned columns; on a terminal too narrow for them, one block of lines per row."""
    cells = [[plain(value) for value in row] for row in rows]
    if not cells:
        return ""
    shown = [i for i in range(len(headers)) if any(row[i] for row in cells)]
    heads = [headers[i] for i in shown]
    cells = [[row[i] for i in shown] for row in cells]
    widths = [max(map(_width, column)) for column in zip(heads, *cells, strict=True)]
    if sum(widths) + len(GAP) * (len(widths) - 1) > shutil.get_terminal_size((120, 24)).columns:
        return _blocks(heads, cells)
    return "\n".join(_line(row, widths) for row in [heads, *cells])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        cell + " " * (width - _width(cell)) for cell, width in zip(cells, widths, strict=True)
    )
    return GAP.join(padded).rstrip()


def _blocks(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n\n".join(pairs(list(zip(heads, row, strict=True))) for row in rows)


def pairs(facts: Sequence[tuple[str, object]]) -> str:
    """Name and value, one line each; facts without a value are left out."""
    known = [(name, plain(value)) for name, value in facts if value not in (None, "")]
    width = max((_width(name) for name, _ in known), default=0)
    return "\n".join(_line((name, value), (width, 0)) for name, value in known)


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def section(title: str, body: str) -> str:
    """A titled block, or nothing where there is no body."""
    return f"\n{title}\n{body}" if body else ""


def seconds(duration_s: float) -> str:
    """A duration with its two largest units: `3 h 5 min`, `12 s`."""
    left = max(0, round(duration_s))
    words = []
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        count, left = divmod(left, size)
        if count:
            words.append(f"{count} {name}")
    return " ".join(words[:2]) or "0 s"


def moment(at: datetime | None) -> str:
    """A moment to the second, in UTC; empty for none."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" if at else ""
