"""The table of a laboratory's run, and its verdict in one line."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

HEAD = ("", "boundary", "kills", "attempts", "effects", "final status")


@dataclass(frozen=True, slots=True)
class Row:
    """What one drill came to. `broken`: the claims that did not hold."""

    number: int
    name: str
    kills: int
    attempts: int
    effects: int
    ended: str
    broken: tuple[str, ...] = ()


def table(rows: Sequence[Row]) -> str:
    """The rows as text, one line each, and under a row whatever is broken in it."""
    cells = [HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEAD))]
    lines = [_line(HEAD, widths)]
    for row in rows:
        lines.append(_line(_cells(row), widths))
        lines += [f"    BROKEN: {claim}" for claim in row.broken]
    return "\n".join(lines)


def verdict(rows: Iterable[Row]) -> str:
    """One line that says it all."""
    rows = list(rows)
    broken = sum(len(row.broken) for row in rows)
    kills = sum(row.kills for row in rows)
    effects = sum(row.effects for row in rows)
    word = "every invariant holds" if not broken else f"{broken} BROKEN"
    return f"{len(rows)} drills, {kills} kills, {effects} effects at the recipient: {word}"


def _cells(row: Row) -> tuple[str, ...]:
    numbers = (str(row.kills), str(row.attempts), str(row.effects))
    return (str(row.number), row.name, *numbers, row.ended)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        cell.rjust(width) if column in {0, 2, 3, 4} else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(padded).rstrip()
