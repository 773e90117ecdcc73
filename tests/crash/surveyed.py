"""The table of all surveys: how many points of what, in which mode, and what came of it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

KEYS = ("stretch", "mode", "provider")
COUNTS = ("points", "left_out", "attempts", "effects", "delivered", "unknown", "twice", "broken")


def survey_table(surveys: Iterable[Mapping[str, Any]]) -> str:
    """One line per stretch, mode and provider, and the verdict in one line."""
    sums: defaultdict[tuple[str, ...], list[int]] = defaultdict(lambda: [0] * len(COUNTS))
    for one in surveys:
        line = sums[tuple(one[key] for key in KEYS)]
        for column, name in enumerate(COUNTS):
            line[column] += _count(one[name])
    lines = [_line(KEYS, COUNTS), *(_line(keys, counts) for keys, counts in sums.items())]
    return "\n".join([*lines, "", _verdict(list(sums.values()))])


def _count(value: int | list[str]) -> int:
    return value if isinstance(value, int) else len(value)


def _line(keys: Iterable[str], counts: Iterable[object]) -> str:
    words = [f"{key:<18}" for key in keys]
    return "".join([*words, *(f"{count!s:>10}" for count in counts)])


def _verdict(lines: list[list[int]]) -> str:
    points, left_out, *_, twice, broken = (sum(column) for column in zip(*lines, strict=True))
    return (
        f"{points} points: {broken} broken invariants; the named residual (frozen between last"
        f" check and last byte, provider without key) acted twice {twice} times.\n"
        f"{left_out} points left out; `make crash EVERY=1` acts at every one of them"
    )
