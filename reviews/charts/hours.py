"""How often deliveries came to each status in each of the last 72 hours, from the trail.

What became unknown and was delivered later counts twice: these are changes, and no state of now.
Hours that are over do not change any more: they are counted once and remembered.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.core.cache import cache
from django.db import connection

HOURS = 72
WIDTH, FLOOR = 1080, 130
STEP = WIDTH / HOURS
STATUSES = ("delivered", "unknown", "failed", "expired", "cancelled")
TONES = {"delivered": "good", "unknown": "unknown", "failed": "bad", "expired": "off",
         "cancelled": "wait"}  # fmt: skip
SMALLEST = 3.0  # a single unknown among thousands must be seen
# Commits may be late: an hour counts as over only some minutes after its end.
SETTLED = timedelta(minutes=5)
_KEY, _KEPT_S = "console:hours", 6 * 3_600
# In the words of the index `event_ends`, which then holds all that is asked for.
_COUNT = """
SELECT date_trunc('hour', at, 'UTC'), to_status, count(*) FROM ledgers_event
WHERE at >= %s AND at < %s AND from_status <> to_status AND to_status = ANY(%s)
GROUP BY 1, 2"""

Hours = dict[datetime, Counter[str]]


@dataclass(frozen=True, slots=True)
class Segment:
    tone: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One hour. `hour` is how the trail's filter spells it."""

    hour: str
    label: str
    x: float
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Total:
    words: str
    tone: str


@dataclass(frozen=True, slots=True)
class HoursChart:
    bars: tuple[Bar, ...]
    days: tuple[tuple[float, str], ...]
    highest: int
    totals: tuple[Total, ...]

    @property
    def width(self) -> float:
        return round(STEP - 1.5, 1)


def hours_chart(now: datetime) -> HoursChart:
    """The chart as it is at this moment."""
    first = _hour(now) - timedelta(hours=HOURS - 1)
    hours = _counted(first, now)
    moments = [first + timedelta(hours=n) for n in range(HOURS)]
    highest = max((hours[m].total() for m in moments if m in hours), default=0)
    bars = tuple(_bar(m, n, hours[m], highest) for n, m in enumerate(moments) if hours.get(m))
    days = tuple((round(n * STEP, 1), f"{m:%a %d}") for n, m in enumerate(moments) if m.hour == 0)
    totals = sum((hours[m] for m in moments if m in hours), Counter[str]())
    return HoursChart(
        bars, days, highest,
        tuple(Total(_said(totals[s], s), TONES[s]) for s in STATUSES if totals[s]),
    )  # fmt: skip


def _said(count: int, status: str) -> str:
    """Unknown is what nothing stays: "61 unknown" would be read as how many are so now."""
    return f"{count} became unknown" if status == "unknown" else f"{count} {status}"


def _hour(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def _counted(first: datetime, now: datetime) -> Hours:
    """Remembered hours, and one statement for all that is not remembered yet."""
    kept: Hours = cache.get(_KEY, {})
    over = _hour(now - SETTLED)
    start = first
    while start in kept and start < over:
        start += timedelta(hours=1)
    fresh = _ask(start, now)
    hours = {h: c for h, c in kept.items() if first <= h < start} | fresh
    if start < over:
        known = {h: hours.get(h, Counter()) for h in _between(first, over)}
        cache.set(_KEY, known, _KEPT_S)
    return hours


def _between(first: datetime, end: datetime) -> list[datetime]:
    return [first + timedelta(hours=n) for n in range(int((end - first).total_seconds() // 3600))]


def _ask(start: datetime, end: datetime) -> Hours:
    hours: Hours = {}
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, [start, end + timedelta(seconds=1), list(STATUSES)])
        for hour, status, count in cursor.fetchall():
            hours.setdefault(hour.astimezone(UTC), Counter())[status] = count
    return hours


def _bar(at: datetime, n: int, counts: Counter[str], highest: int) -> Bar:
    segments, y = [], float(FLOOR)
    for status in STATUSES:
        if counts[status]:
            height = round(max(SMALLEST, (FLOOR - 10) * counts[status] / highest), 1)
            y = round(y - height, 1)
            segments.append(Segment(TONES[status], y, height))
    words = ", ".join(_said(counts[s], s) for s in STATUSES if counts[s])
    return Bar(f"{at:%Y-%m-%dT%H}", f"{at:%a %H}:00 UTC: {words}", round(n * STEP, 1),
               tuple(segments))  # fmt: skip
