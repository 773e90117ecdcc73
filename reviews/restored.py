"""What a restore has put in doubt, in the groups that people decide about.

A group is what has the same channel, was due at the same side of the restore point, and of which
the destination has shown the same. Somebody who knows that the old workers stood still from the
restore point on, or that a channel was paused, knows it of a whole group.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from delivery.errors import InvalidInputError
from ledgers.models import Installation
from reviews import gates
from reviews.people import Person
from reviews.records import Decision
from reviews.refusing import lacks, refuse_unless
from reviews.selecting import select

# When it was to go out, in words that follow "was due".
DUE = {
    "before": "before the restore point",
    "meanwhile": "in the time that was lost",
    "since": "or recorded after the restore was noticed",
}
# What its destination has shown since.
SHOWN = {
    "unsearched": "not searched since",
    "inconclusive": "searched: it cannot be told",
    "absent": "searched completely: nothing found",
    "found": "found: delivered",
    "ended": "decided otherwise since",
}
COUNTED = 100_000  # deliveries; beyond that counts say "or more"


@dataclass(frozen=True, slots=True)
class Group:
    """Deliveries that a restore has put in doubt. `due`, `shown`: keys of DUE and SHOWN.

    `open`: how many are unknown still, and so may be decided about.
    """

    channel: str
    due: str
    shown: str
    count: int
    open: int

    @property
    def name(self) -> str:
        """As an address and a command name it."""
        return f"{self.channel}:{self.due}:{self.shown}"

    @property
    def words(self) -> str:
        return f"{self.channel}, was due {DUE[self.due]}; {SHOWN[self.shown]}"


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a restore has been dealt with.

    `kind`: `restored`, `unsure` (nobody can tell where the database comes from), `held` (by a
    person), or empty. `rewinding`: workers are still reckoning with what was open. `more`: there
    are more deliveries than were counted.
    """

    kind: str
    reason: str
    epoch: int
    held_at: datetime | None
    restored_at: datetime | None
    restore_point: datetime | None
    doubt_until: datetime | None
    rewinding: bool
    groups: tuple[Group, ...]
    more: bool


def standing() -> Standing:
    """How things stand. Reads only."""
    row = Installation.objects.get()
    groups = tuple(_groups()) if row.restored_at else ()
    return Standing(
        kind=_kind(row),
        reason=row.held_reason,
        epoch=row.epoch,
        held_at=row.held_at,
        restored_at=row.restored_at,
        restore_point=row.restore_point,
        doubt_until=row.doubt_until,
        rewinding=row.rewound_to is not None,
        groups=groups,
        more=sum(group.count for group in groups) >= COUNTED,
    )


def _kind(row: Installation) -> str:
    if row.restoring:
        return "restored"
    if row.unsure_at:
        return "unsure"
    return "held" if row.held_at else ""


def select_group(person: Person, name: str) -> Decision:
    """Freeze a group as it is now, so that it can be looked at and decided about.

    At most `gates.RELEASE_CAP` of it at a time, the oldest first.

    Args:
        person: who.
        name: a group's name.

    Raises:
        NotAllowedError: they may not decide.
        InvalidInputError: there is no such group, or nothing of it is open.
    """
    refuse_unless(person.may("decide"), lacks("decide"))
    channel, _, rest = name.partition(":")
    due, _, shown = rest.partition(":")
    with connection.cursor() as cursor:
        cursor.execute(_MEMBERS, [COUNTED, channel, due, shown, gates.RELEASE_CAP])
        versions = dict(cursor.fetchall())
    if not versions:
        known = ", ".join(group.name for group in _groups() if group.open) or "none"
        raise InvalidInputError("group", "has nothing open in it", f"one of: {known}")
    group = Group(channel, due, shown, len(versions), len(versions))
    return select(person, versions, f"restored: {group.words}", gates.RELEASE_CAP)


def _groups() -> Iterator[Group]:
    with connection.cursor() as cursor:
        cursor.execute(_GROUPS, [COUNTED])
        for row in cursor.fetchall():
            yield Group(*row)


# A search counts if it began when everything sent before the restore must have shown.
_REWOUND = """
WITH rewound AS (
    SELECT d.id, d.row_version, d.status, d.message_id, d.created_at, d.rewound_at
    FROM ledgers_delivery d WHERE d.rewound_at IS NOT NULL ORDER BY d.id LIMIT %s
),
told AS (
    SELECT r.id, r.row_version, r.status, c.slug AS channel,
        CASE WHEN GREATEST(m.not_before, r.created_at) <= i.restore_point THEN 'before'
            WHEN GREATEST(m.not_before, r.created_at) <= i.restored_at THEN 'meanwhile'
            ELSE 'since' END AS due,
        CASE WHEN r.status = 'delivered' THEN 'found'
            WHEN r.status IN ('failed', 'expired', 'cancelled') THEN 'ended'
            WHEN seen.verdict IS NULL THEN 'unsearched'
            WHEN seen.verdict = 'absent' THEN 'absent' ELSE 'inconclusive' END AS shown
    FROM rewound r
    JOIN ledgers_message m ON m.id = r.message_id
    JOIN ledgers_channel c ON c.id = m.channel_id
    CROSS JOIN ledgers_installation i
    LEFT JOIN LATERAL (
        SELECT v.verdict FROM ledgers_evidence v
        WHERE v.delivery_id = r.id AND v.method <> 'operator' AND v.taken_at >= r.rewound_at
        ORDER BY v.verdict = 'absent' DESC, v.id DESC LIMIT 1
    ) AS seen ON true
)"""

_GROUPS = f"""{_REWOUND}
SELECT channel, due, shown, count(*), count(*) FILTER (WHERE status = 'unknown')
FROM told GROUP BY channel, due, shown ORDER BY channel, due, shown"""  # noqa: S608  constants

_MEMBERS = f"""{_REWOUND}
SELECT id, row_version FROM told
WHERE channel = %s AND due = %s AND shown = %s AND status = 'unknown' ORDER BY id LIMIT %s"""  # noqa: S608  constants
