"""Whether workers restart at even intervals. Pure.

People and crashes are uneven. What restarts a process every five minutes to the second is a probe,
a timer or a supervisor, and it kills whatever is on the wire.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import mean

from delivery.silence import SILENT_S
from delivery.watch.figures import WorkerFigures

FEWEST = 4  # restarts in a row: three even intervals are not chance
# Workers that one unit starts together count as one start.
TOGETHER_S = 10.0
EVEN_S, EVEN_SHARE = 5.0, 0.05
# Silent ends within an hour: one is a kill, a few a bad evening.
MANY_ENDS, WITHIN_S = 5, 3_600.0
# Beyond that it is somebody's plan, such as a restart every night.
LONGEST_S = 7_200.0


@dataclass(frozen=True, slots=True)
class Rhythm:
    """`interval_s`: the mean; `deviation_s`: the furthest from it. `in_doubt`: what it cost."""

    host: str
    restarts: int
    interval_s: float
    deviation_s: float
    since: datetime
    in_doubt: int


def rhythms(workers: Iterable[WorkerFigures], now: datetime) -> list[Rhythm]:
    """The hosts whose workers restart at even intervals, and still did so lately."""
    by_host: dict[str, list[WorkerFigures]] = defaultdict(list)
    for one in workers:
        if one.mode == "resident":
            by_host[one.host].append(one)
    found = (_rhythm(host, rows, now) for host, rows in by_host.items())
    return [one for one in found if one is not None]


def silent_ends(workers: Iterable[WorkerFigures], now: datetime) -> list[WorkerFigures]:
    """Those of the last hour that gave no more sign of life and never said good-bye."""
    return [
        one
        for one in workers
        if one.mode == "resident"
        and one.stopped_at is None
        and SILENT_S < (now - one.beat_at).total_seconds() <= WITHIN_S
    ]


def _rhythm(host: str, rows: Sequence[WorkerFigures], now: datetime) -> Rhythm | None:
    starts = _even(_merged(sorted(one.started_at for one in rows)))
    if len(starts) <= FEWEST:
        return None
    gaps = _gaps(starts)
    interval = mean(gaps)
    # One that has ended is no news: the next restart did not come.
    over = (now - starts[-1]).total_seconds() > 2 * interval + EVEN_S
    if over or interval > LONGEST_S:
        return None
    deviation = max(abs(gap - interval) for gap in gaps)
    doubt = sum(one.in_doubt for one in rows if starts[0] <= one.started_at < starts[-1])
    return Rhythm(host, len(gaps), interval, deviation, starts[0], doubt)


def _merged(starts: Sequence[datetime]) -> list[datetime]:
    merged: list[datetime] = []
    for start in starts:
        if not merged or (start - merged[-1]).total_seconds() > TOGETHER_S:
            merged.append(start)
    return merged


def _even(starts: list[datetime]) -> list[datetime]:
    """The latest starts in a row, as far back as they are even."""
    if len(starts) < 2:
        return starts
    kept, last = starts[-2:], (starts[-1] - starts[-2]).total_seconds()
    for start in reversed(starts[:-2]):
        gap = (kept[0] - start).total_seconds()
        if abs(gap - last) > max(EVEN_S, EVEN_SHARE * last):
            break
        kept.insert(0, start)
    return kept


def _gaps(starts: Sequence[datetime]) -> list[float]:
    return [(b - a).total_seconds() for a, b in pairwise(starts)]
