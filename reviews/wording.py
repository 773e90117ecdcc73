"""Times and spans as people say them."""

from datetime import datetime

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def duration(seconds: float) -> str:
    """The two largest units: `3 h 12 min`, `45 s`."""
    left = round(abs(seconds))
    parts = []
    for size, unit in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}")
        if parts and (len(parts) == 2 or not count):
            break
    return " ".join(parts) or "0 s"


def ago(at: datetime, now: datetime) -> str:
    """`3 min ago`, or `in 3 min`; the largest unit alone."""
    away = (now - at).total_seconds()
    if abs(away) < 1:
        return "just now"
    largest = " ".join(duration(away).split(" ")[:2])
    return f"{largest} ago" if away > 0 else f"in {largest}"


def exactly(at: datetime | None) -> str:
    """To the millisecond, with the zone."""
    return f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d} UTC" if at else ""
