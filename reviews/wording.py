"""Times and spans as people say them, and moments as addresses and forms spell them."""

from datetime import UTC, datetime

from django.utils.dateparse import parse_datetime

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def duration(seconds: float) -> str:
    """The two largest units: `3 h 12 min`, `45 s`."""
    if abs(seconds) < 10:
        return f"{abs(seconds):.3g} s"
    left = round(abs(seconds))
    parts = []
    for size, unit in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}")
        if parts and (len(parts) == 2 or not count):
            break
    return " ".join(parts)


def ago(at: datetime, now: datetime) -> str:
    """`3 min ago`, or `in 3 min`; the largest unit alone."""
    away = int((now - at).total_seconds())
    if not away:
        return "just now"
    largest = " ".join(duration(away).split(" ")[:2])
    return f"{largest} ago" if away > 0 else f"in {largest}"


def exactly(at: datetime | None) -> str:
    """To the millisecond, with the zone."""
    return f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d} UTC" if at else ""


def clock(at: datetime | None, now: datetime) -> str:
    """To the second, with the zone; with its day where that is not close."""
    if at is None:
        return "an unknown time"
    near = abs((at - now).total_seconds()) < 43_200
    return f"{at:%H:%M:%S} UTC" if near else f"{at:%Y-%m-%d %H:%M:%S} UTC"


def moment_in(text: str) -> datetime | None:
    """The moment that an address or a form names, in UTC; None where it is none, or has no zone.

    The database refuses zones that Python reads (+23:59), and Python moments that the first and the
    last year have only in some zones.
    """
    try:
        found = parse_datetime(text)
        return found.astimezone(UTC) if found is not None and found.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
