"""What every page shows of the whole: counts in the menu, and the banners. One statement."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from delivery.silence import COUNTED, LEFT_TO_MACHINES, PACED, SILENT_S, UNAPPROVED


@dataclass(frozen=True, slots=True)
class Glance:
    """`beat_at`: the last sign of life of any worker that has not said good-bye.

    `last_beat_at`: of any worker at all. `origin`: it is held because of where the database comes
    from, which no switch releases.
    """

    now: datetime
    unknown: int
    owed: int
    paused: tuple[str, ...]
    channels: int
    held_at: datetime | None
    held_reason: str
    beat_at: datetime | None
    last_beat_at: datetime | None
    waiting: int
    deaf_since: datetime | None = None
    origin: bool = False

    @property
    def silent(self) -> bool:
        """No worker is alive, as far as the rows tell."""
        return self.beat_at is None or (self.now - self.beat_at).total_seconds() > SILENT_S

    @property
    def deaf(self) -> bool:
        """Workers are alive and have taken nothing of what is due, for as long as that."""
        since = self.deaf_since
        return (
            not self.silent and since is not None and (self.now - since).total_seconds() > SILENT_S
        )

    @property
    def all_paused(self) -> bool:
        return len(self.paused) == self.channels

    @property
    def owed_shown(self) -> str:
        return self.count("owed") or "nothing now"

    def count(self, name: str) -> str:
        """A number of this name, as the menu shows it; nothing for none."""
        number = getattr(self, name) if name else 0
        number = len(number) if isinstance(number, tuple) else number
        return "" if not number else "999+" if number >= COUNTED else str(number)


# The limits are COUNTED.
_GLANCE = f"""
SELECT clock_timestamp(),
    (SELECT count(*) FROM (SELECT 1 FROM ledgers_delivery
        WHERE status = 'unknown' AND decision <> 'leave' LIMIT 1000) u),
    (SELECT count(*) FROM (SELECT 1 FROM ledgers_outboxitem LIMIT 1000) o),
    ARRAY(SELECT slug FROM ledgers_channel WHERE paused_at IS NOT NULL ORDER BY slug),
    (SELECT count(*) FROM ledgers_channel),
    i.held_at, i.held_reason,
    (SELECT max(beat_at) FROM delivery_worker WHERE stopped_at IS NULL
        AND beat_at > clock_timestamp() - interval '7 days'),
    (SELECT max(beat_at) FROM delivery_worker),
    (SELECT count(*) FROM reviews_decision WHERE stage = 'requested'
        AND expires_at > clock_timestamp())
        + (SELECT count(*) FROM reviews_proposal WHERE stage = 'requested'
            AND expires_at > clock_timestamp()),
    -- As `delivery.watch` has it: due, nobody is busy, and nobody has taken anything since.
    (SELECT GREATEST(min(o.due_at), max(w.claimed_at), max(w.started_at)) FROM (
        SELECT min(first.due_at) AS due_at FROM ledgers_channel c CROSS JOIN LATERAL (
            SELECT o.due_at FROM ledgers_outboxitem o
            JOIN ledgers_delivery d ON d.id = o.delivery_id
            WHERE o.channel_id = c.id AND NOT o.leased AND NOT ({UNAPPROVED})
                AND o.due_at < (SELECT clock_timestamp()) - make_interval(secs => c.grace_s)
            ORDER BY o.due_at LIMIT 1) first
        WHERE {LEFT_TO_MACHINES} AND NOT c.requires_approval AND NOT {PACED}) o, (
        SELECT max(claimed_at) AS claimed_at, min(started_at) FILTER (WHERE stopped_at IS NULL
            AND beat_at > clock_timestamp() - interval '{SILENT_S} seconds') AS started_at
        FROM delivery_worker WHERE beat_at > clock_timestamp() - interval '1 day') w
    WHERE o.due_at IS NOT NULL AND NOT EXISTS (SELECT FROM ledgers_outboxitem
        WHERE leased AND due_at > (SELECT clock_timestamp()))),
    i.unsure_at IS NOT NULL OR (i.restored_at IS NOT NULL AND i.doubt_until IS NULL)
FROM ledgers_installation i"""


def glance() -> Glance:
    """How things stand at this moment."""
    with connection.cursor() as cursor:
        cursor.execute(_GLANCE)
        now, unknown, owed, paused, *rest = cursor.fetchone()
    return Glance(now, unknown, owed, tuple(paused), *rest)
