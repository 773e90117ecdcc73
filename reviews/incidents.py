"""Unknown deliveries in the order of need, and the incidents that they fall into.

An incident is one channel, one boundary, and a time without a pause of a quarter of an hour.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from delivery.silence import KEY_CLOSES
from ledgers.clock import database_now
from reviews.gates import CAP
from reviews.plainly import BOUNDARIES
from reviews.wording import moment_in

GROUPED = 2_000  # the oldest so many are grouped into incidents
PAGE = 50
FIELDS = ("channel", "boundary", "from", "to")
KEPT = ("about", "after", "csrfmiddlewaretoken")  # what else addresses and forms of a list carry
# As `plainly.boundary_key` names them.
_BOUNDARY = """CASE
    WHEN a.outcome IN ('mismatch', 'in_flight') THEN a.outcome
    WHEN a.outcome = '' THEN 'lost'
    WHEN a.outcome IS NULL AND d.rewound_at IS NOT NULL THEN 'restored'
    ELSE COALESCE(a.phase, '') END"""
# When the key stops protecting; NULL where none does any more.
_CLOSES = f"CASE WHEN {KEY_CLOSES} > %(now)s THEN {KEY_CLOSES} END"
_FROM = """
FROM ledgers_delivery d
JOIN ledgers_message m ON m.id = d.message_id
JOIN ledgers_channel c ON c.id = m.channel_id"""
_LAST_ATTEMPT = """
LEFT JOIN LATERAL (
    SELECT t.outcome, t.phase FROM ledgers_attempt t WHERE t.delivery_id = d.id
    ORDER BY t.number DESC LIMIT 1
) AS a ON true"""
_OPEN = """
WHERE d.status = 'unknown' AND d.decision <> 'leave'"""


@dataclass(frozen=True, slots=True)
class Incident:
    """Deliveries that became unknown together."""

    channel: str
    boundary: str
    first: datetime
    last: datetime
    count: int
    closes: datetime | None
    people: tuple[str, ...]
    taken: int  # by any of these people

    @property
    def words(self) -> str:
        return BOUNDARIES.get(self.boundary, self.boundary)

    @property
    def about(self) -> str:
        """The incident as a decision keeps it."""
        return _about(self.channel, self.boundary, self.first, self.last)

    @property
    def span(self) -> str:
        """From when to when, by the clock: two ages would often read the same."""
        day = "" if self.first.date() == self.last.date() else "%Y-%m-%d "
        return f"{self.first:{day}%H:%M:%S} to {self.last:{day}%H:%M:%S} UTC"

    @property
    def fields(self) -> dict[str, str]:
        """What picks its rows again, in a form or an address. Later rows are later than `to`."""
        return {
            "channel": self.channel,
            "boundary": self.boundary,
            "from": self.first.isoformat(),
            "to": self.last.isoformat(),
        }


def _about(channel: str, boundary: str, first: datetime, last: datetime) -> str:
    words = BOUNDARIES.get(boundary, boundary)
    return f"{channel}: {words}, {first:%Y-%m-%d %H:%M} to {last:%H:%M} UTC"


def incidents(channel: str = "") -> list[Incident]:
    """The incidents among the oldest unknown deliveries: what closes first, then the oldest.

    Args:
        channel: the slug of the only channel that is meant; empty for all.
    """
    values: dict[str, Any] = {"now": database_now(), "limit": GROUPED, "channel": channel}
    with connection.cursor() as cursor:
        cursor.execute(_INCIDENTS.format(only=_ONLY if channel else ""), values)
        return [_incident(row) for row in cursor.fetchall()]


def _incident(row: tuple[Any, ...]) -> Incident:
    channel, boundary, first, last, count, closes, people, taken = row
    names = tuple(name for name in people if name)
    return Incident(channel, boundary, first, last, count, closes, names, taken)


_ONLY = " AND c.slug = %(channel)s"
_INCIDENTS = f"""
WITH u AS (
    SELECT d.id, d.unknown_since, c.slug, {_BOUNDARY} AS boundary, {_CLOSES} AS closes
    {_FROM}{_LAST_ATTEMPT}{_OPEN}{{only}} ORDER BY d.unknown_since, d.id LIMIT %(limit)s
),
gaps AS (
    SELECT u.*, (unknown_since - lag(unknown_since) OVER w > interval '15 minutes')::int AS starts
    FROM u WINDOW w AS (PARTITION BY slug, boundary ORDER BY unknown_since, id)
),
spans AS (
    SELECT g.*, COALESCE(sum(starts) OVER w, 0) AS span
    FROM gaps g WINDOW w AS (PARTITION BY slug, boundary ORDER BY unknown_since, id)
)
SELECT s.slug, s.boundary, min(s.unknown_since), max(s.unknown_since), count(*), min(s.closes),
    array_agg(DISTINCT p.person), count(p.person)
FROM spans s LEFT JOIN reviews_assignment p ON p.delivery_id = s.id
GROUP BY s.slug, s.boundary, s.span ORDER BY min(s.closes) NULLS LAST, min(s.unknown_since)"""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which unknown deliveries: all (`whole`), of one channel, of one incident, or none."""

    channel: str = ""
    boundary: str = ""
    since: datetime | None = None
    until: datetime | None = None
    whole: bool = False
    all_of_channel: bool = False

    @property
    def sql(self) -> str:
        """From `FROM` to `WHERE`. All of them are ordered without a look at their attempts."""
        if self.whole:
            return f"{_FROM}{_OPEN}"
        if self.all_of_channel:
            return f"{_FROM}{_OPEN} AND c.slug = %(channel)s"
        return (
            f"{_FROM}{_LAST_ATTEMPT}{_OPEN} AND c.slug = %(channel)s AND {_BOUNDARY} = %(boundary)s"
            " AND d.unknown_since BETWEEN %(since)s AND %(until)s"
        )

    @property
    def about(self) -> str:
        """What its rows have in common, as a decision keeps it: never in somebody's own words."""
        if self.since is None or self.until is None:
            return ""
        return _about(self.channel, self.boundary, self.since, self.until)

    @property
    def values(self) -> dict[str, Any]:
        names = ("channel", "boundary", "since", "until")
        return {name: getattr(self, name) for name in names}


NOTHING = Chosen()
ALL = Chosen(whole=True)


def chosen(fields: Any) -> Chosen:
    """What an address or a form chooses. One that is not understood chooses nothing."""
    given = {name: fields[name] for name in FIELDS if name in fields}
    if not given:
        return ALL
    since, until = moment_in(given.get("from", "")), moment_in(given.get("to", ""))
    plain = "\x00" not in "".join(given.values())
    if set(given) != set(FIELDS) or since is None or until is None or not plain:
        return NOTHING
    return Chosen(given["channel"], given["boundary"], since, until)


def listed(fields: Any) -> Chosen:
    """What the address of a list chooses: as `chosen`, or all of one channel.

    Not for a decision, which is about an incident. A word that it does not know narrows to nothing,
    since otherwise a mistyped filter would show everything.
    """
    if set(fields) - {*FIELDS, *KEPT}:
        return NOTHING
    given = [name for name in FIELDS if name in fields]
    if given == ["channel"] and "\x00" not in fields["channel"]:
        return Chosen(fields["channel"], all_of_channel=True)
    return chosen(fields)


@dataclass(frozen=True, slots=True)
class Place:
    """One unknown delivery in the order of need."""

    id: int
    version: int
    closes: datetime | None
    since: datetime

    @property
    def cursor(self) -> str:
        """What the next page begins after."""
        closes = self.closes.isoformat() if self.closes else "never"
        return f"{closes}~{self.since.isoformat()}~{self.id}"


def places(which: Chosen, *, after: str = "", limit: int = PAGE) -> list[Place]:
    """Unknown deliveries: whose key stops protecting first, then the longest unknown."""
    if which is NOTHING:
        return []
    values = which.values | {"now": database_now(), "limit": limit}
    begins = _after(after)
    keyset = ""
    if begins is not None:
        keyset = (
            " WHERE (COALESCE(closes, 'infinity'), since, id) > (%(closes)s, %(begun)s, %(id)s)"
        )
        values |= begins
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id, version, closes, since FROM ("
            f"SELECT d.id, d.row_version AS version, {_CLOSES} AS closes,"
            f" d.unknown_since AS since {which.sql}) AS u{keyset}"
            " ORDER BY COALESCE(closes, 'infinity'), since, id LIMIT %(limit)s",
            values,
        )
        return [Place(*row) for row in cursor.fetchall()]


def _after(cursor: str) -> dict[str, Any] | None:
    closes, _, rest = cursor.partition("~")
    since, _, number = rest.partition("~")
    begun = moment_in(since)
    if begun is None or not number.isascii() or not number.isdigit() or len(number) > 18:
        return None
    at = "infinity" if closes == "never" else moment_in(closes)
    return {"closes": at, "begun": begun, "id": int(number)} if at else None


def frozen(which: Chosen) -> dict[int, int]:
    """The rows of an incident with their versions, for a decision about it; at most its cap."""
    return {place.id: place.version for place in places(which, limit=CAP)}


def arrived_since(moment: datetime) -> int:
    """How many became unknown after this moment."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM (SELECT 1 FROM ledgers_delivery WHERE status = 'unknown'"
            " AND unknown_since > %s LIMIT 1000) AS u",
            [moment],
        )
        return int(cursor.fetchone()[0])
