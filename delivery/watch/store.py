"""The alarms' rows in the database, and whose turn it is to tell them.

Two watches at once: both see the same trouble, the row of `Watch` lets one after the other write
it, and a way is leased while it is used, so each transition is told once. A watch that is killed
after the recipient accepted and before that is written tells it again when the lease is over: an
alarm may come twice, and is never lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from django.db import connection, transaction

from delivery.models import AlarmRow, AlarmWay, Watch
from delivery.watch.alarms import Alarm, introduced, kept
from delivery.watch.checks import Finding, State
from ledgers.clock import ClockTimestamp
from ledgers.management.words import plain

# Longer than the longest use of a way.
LEASE_S = 60.0
# What happens within so many seconds after a message is told together in the next one.
GATHER_S = 45.0
FIRST_BACKOFF_S, LONGEST_BACKOFF_S = 15.0, 900.0
# `told` of an alarm grows by one entry per address that ever was.
MOST_WAYS = 200


@dataclass(frozen=True, slots=True)
class Turn:
    """A leased way and what it has to tell."""

    way: str
    fence: int
    alarms: tuple[Alarm, ...]


class Keeper(Protocol):
    """Where alarms are kept."""

    def keep(self, found: Sequence[Finding], now: datetime, ways: Sequence[str]) -> None:
        """Write what a look found at `now`."""

    def take(self, way: str) -> Turn | None:
        """Lease a way that has something to tell and whose time has come."""

    def settle(self, turn: Turn, why_not: str) -> None:
        """Write whether it was accepted (`why_not` is ""), and give the way back."""


class Ledger:
    """Keeps alarms in the database. Every method may raise `django.db.Error`."""

    def keep(self, found: Sequence[Finding], now: datetime, ways: Sequence[str]) -> None:
        with transaction.atomic():
            Watch.objects.bulk_create([Watch()], ignore_conflicts=True)
            watch = Watch.objects.select_for_update().get()
            if watch.seen_at is not None and now <= watch.seen_at:
                return  # another watch has looked since
            Watch.objects.update(seen_at=now)
            _save(found, now, ways)

    def take(self, way: str) -> Turn | None:
        if not _owed(way):
            return None
        fence = _leased(way)
        if fence is None:
            return None
        # Once more under the lease: whoever had it until now may have told everything.
        owed = _owed(way)
        if not owed:
            AlarmWay.objects.filter(name=way, fence=fence).update(lease_until=ClockTimestamp())
            return None
        return Turn(way, fence, owed)

    def settle(self, turn: Turn, why_not: str) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            if not why_not:
                # Whoever holds the lease now: it was accepted.
                way = turn.way
                cursor.executemany(
                    _TELL,
                    [(way, a.serial, way, a.serial, a.check, a.channel) for a in turn.alarms],
                )
                cursor.execute(_ACCEPTED, [GATHER_S, way, turn.fence])
            else:
                backoff = [FIRST_BACKOFF_S, LONGEST_BACKOFF_S]
                said = plain(why_not)[:300]
                cursor.execute(_FAILED, [said, *backoff, turn.way, turn.fence])


def _save(found: Sequence[Finding], now: datetime, ways: Sequence[str]) -> None:
    # Locked: `told` is written meanwhile by whoever tells, and a lost entry is a second mail.
    rows = AlarmRow.objects.select_for_update().order_by("pk")
    old = {(row.check_name, row.channel): row for row in rows}
    before = {place: _alarm(row) for place, row in old.items()}
    # First met, then advanced: to a new way, what begins now is news.
    met = [introduced(alarm, ways[:MOST_WAYS]) for alarm in before.values()]
    fresh = [
        introduced(Alarm(one.check, one.channel), ways[:MOST_WAYS])
        for one in found
        if (one.check, one.channel) not in before
    ]
    for alarm in kept([*met, *fresh], found, now):
        place = (alarm.check, alarm.channel)
        # What was never wrong needs no row: there are many checks, and many channels.
        if alarm != before.get(place) and (place in before or alarm.state is not State.OK):
            _write(old.get(place) or AlarmRow(check_name=alarm.check, channel=alarm.channel), alarm)


def _alarm(row: AlarmRow) -> Alarm:
    return Alarm(
        check=row.check_name,
        channel=row.channel,
        state=State(row.state),
        since=row.since,
        sentence=row.sentence,
        better_since=row.better_since,
        ended_at=row.ended_at,
        serial=row.serial,
        returns=row.returns,
        newest=row.newest,
        raised_at=row.raised_at,
        told={str(way): int(serial) for way, serial in row.told.items()},
    )


def _write(row: AlarmRow, alarm: Alarm) -> None:
    row.state, row.since, row.sentence = alarm.state.value, alarm.since, alarm.sentence
    row.better_since, row.ended_at = alarm.better_since, alarm.ended_at
    row.serial, row.returns, row.told = alarm.serial, alarm.returns, alarm.told
    row.newest, row.raised_at = alarm.newest, alarm.raised_at
    row.save()


def _owed(way: str) -> tuple[Alarm, ...]:
    rows = AlarmRow.objects.filter(serial__gt=0).order_by("pk")
    return tuple(alarm for alarm in map(_alarm, rows) if alarm.owes(way))


# Zero rows: it is leased, or its time has not come.
_LEASE = """
UPDATE delivery_alarmway SET lease_until = clock_timestamp() + make_interval(secs => %s),
    fence = fence + 1
WHERE name = %s AND lease_until <= clock_timestamp() AND next_at <= clock_timestamp()
RETURNING fence"""

# `told` may be written by two ways at once, so the database joins it; it never goes back.
_TELL = """
UPDATE delivery_alarmrow SET told = told || jsonb_build_object(%s::text, %s::int)
WHERE COALESCE((told->>%s)::int, 0) < %s AND check_name = %s AND channel = %s"""

_ACCEPTED = """
UPDATE delivery_alarmway SET accepted_at = clock_timestamp(), failures = 0,
    lease_until = clock_timestamp(), next_at = clock_timestamp() + make_interval(secs => %s)
WHERE name = %s AND fence = %s"""

_FAILED = """
UPDATE delivery_alarmway SET failed_at = clock_timestamp(), failure = %s,
    failures = failures + 1, lease_until = clock_timestamp(),
    next_at = clock_timestamp() + make_interval(secs =>
        least(%s * 2 ^ least(failures, 20), %s))
WHERE name = %s AND fence = %s"""


def _leased(way: str) -> int | None:
    AlarmWay.objects.bulk_create([AlarmWay(name=way)], ignore_conflicts=True)
    with connection.cursor() as cursor:
        cursor.execute(_LEASE, [LEASE_S, way])
        row = cursor.fetchone()
    return int(row[0]) if row else None


def knows_all(way: str) -> bool:
    """Whether a way has accepted everything that there is to tell."""
    return not _owed(way)


def note_use(way: str, why_not: str) -> None:
    """Write what became of a test or a ping. Lease and back-off stay: an alarm may be under way."""
    AlarmWay.objects.bulk_create([AlarmWay(name=way)], ignore_conflicts=True)
    row = AlarmWay.objects.filter(name=way)
    if why_not:
        row.update(failed_at=ClockTimestamp(), failure=plain(why_not)[:300])
    else:
        row.update(accepted_at=ClockTimestamp())
