"""How old the unknown deliveries are that nobody has decided to leave so."""

from dataclasses import dataclass

from django.db import connection

COUNTED = 10_000
WIDTH = 300
# Up to so many seconds; the alarms of people begin at the second.
BUCKETS = ((300, "under 5 min"), (3_600, "5 min to 1 h"), (21_600, "1 to 6 h"),
           (86_400, "6 to 24 h"), (259_200, "1 to 3 days"), (0, "over 3 days"))  # fmt: skip
_AGES = """
SELECT width_bucket(extract(epoch FROM clock_timestamp() - u.unknown_since)::float8,
                    ARRAY[300, 3600, 21600, 86400, 259200]::float8[]) AS bucket, count(*)
FROM (SELECT unknown_since FROM ledgers_delivery
      WHERE status = 'unknown' AND decision <> 'leave' ORDER BY unknown_since LIMIT %s) u
GROUP BY 1"""


@dataclass(frozen=True, slots=True)
class Age:
    """One bar. `width` is out of 300."""

    label: str
    count: int
    width: float


def ages() -> tuple[Age, ...]:
    """The bars, youngest first; none if nothing is unknown."""
    with connection.cursor() as cursor:
        cursor.execute(_AGES, [COUNTED])
        counts = dict(cursor.fetchall())
    most = max(counts.values(), default=0)
    if not most:
        return ()
    return tuple(
        Age(label, counts.get(n, 0), round(max(2.0, WIDTH * counts.get(n, 0) / most), 1))
        for n, (_, label) in enumerate(BUCKETS)
    )
