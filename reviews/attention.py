"""What somebody must look into, as data: each with the question it answers and the rows it means.

The card's number and the list behind it come from the same words of SQL, so they cannot differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.db import connection

from delivery.silence import COUNTED, KEY_CLOSES, OVERDUE

LISTED = 100

# As in triage and for alarms: what a person left as it is asks nobody any more.
_IN_DOUBT = "d.status = 'unknown' AND d.decision <> 'leave'"


@dataclass(frozen=True, slots=True)
class Concern:
    """`rows`: from `FROM` to `WHERE`, with the delivery as `d`. `since`: what orders them.

    `has_card`: it is counted on the overview; others are lists that alarms lead to.
    """

    name: str
    title: str
    question: Literal["unsafe", "silent"]
    means: str
    tone: str
    since_is: str
    rows: str
    since: str
    has_card: bool = True


CONCERNS: tuple[Concern, ...] = (
    Concern(
        "unknown", "Unknown", "unsafe",
        "may have been accepted; nobody sends it again before it is decided",
        "unknown", "oldest",
        f"ledgers_delivery d WHERE {_IN_DOUBT}", "d.unknown_since",
    ),
    Concern(
        "closing", "Window closing", "unsafe",
        "unknown, and its key stops protecting within the hour",
        "bad", "first closes",
        "ledgers_delivery d JOIN ledgers_message m ON m.id = d.message_id"
        " JOIN ledgers_channel c ON c.id = m.channel_id"
        f" WHERE {_IN_DOUBT} AND {KEY_CLOSES} BETWEEN (SELECT clock_timestamp())"
        " AND (SELECT clock_timestamp()) + interval '1 hour'",
        KEY_CLOSES,
    ),
    Concern(
        "disputed", "Disputed", "unsafe",
        "delivered, although it counted as not sent",
        "warn", "oldest",
        "ledgers_delivery d WHERE d.disputed_at IS NOT NULL", "d.disputed_at",
    ),
    Concern(
        "expired", "Expired, undecided", "unsafe",
        "provably not sent in time, and nobody has said what now",
        "warn", "oldest",
        "ledgers_delivery d WHERE d.status = 'expired' AND d.decision = ''", "d.finished_at",
    ),
    Concern(
        "approval", "Tries to approve", "unsafe",
        "wait on a channel whose every try takes approval",
        "warn", "oldest",
        "ledgers_channel c JOIN ledgers_outboxitem o ON o.channel_id = c.id"
        " JOIN ledgers_delivery d ON d.id = o.delivery_id"
        " WHERE c.requires_approval AND d.status = 'pending' AND d.decision = ''",
        "d.created_at",
    ),
    Concern(
        "credential", "Credential refused", "unsafe",
        "wait because the provider does not let their credential in",
        "bad", "since",
        "delivery_credentialhold h JOIN ledgers_outboxitem o ON o.channel_id = h.channel_id"
        " JOIN ledgers_delivery d ON d.id = o.delivery_id"
        " WHERE d.status IN ('pending', 'unknown') AND position(h.why IN d.cause) > 0",
        "h.since",
    ),
    Concern(
        "overdue", "Overdue", "silent",
        "due for longer than the channel's grace, held by no person, and no worker has taken it",
        "bad", "owed since",
        OVERDUE, "d.created_at",
    ),
    Concern(
        "stuck", "Stuck leases", "silent",
        "taken by a worker whose lease is over",
        "bad", "oldest",
        "ledgers_outboxitem o JOIN ledgers_delivery d ON d.id = o.delivery_id"
        " JOIN ledgers_channel c ON c.id = o.channel_id"
        " WHERE o.leased AND o.due_at < (SELECT clock_timestamp()) AND NOT c.for_testing",
        "o.due_at",
    ),
    Concern(
        "failed", "Failed, undecided", "unsafe",
        "provably not accepted, tried by no machine any more, and nobody has said what now",
        "warn", "oldest",
        "ledgers_delivery d WHERE d.status = 'failed' AND d.decision = ''"
        " AND d.finished_at > (SELECT clock_timestamp()) - interval '1 day'",
        "d.finished_at", has_card=False,
    ),
)  # fmt: skip
BY_NAME = {concern.name: concern for concern in CONCERNS}
CARDS = tuple(concern for concern in CONCERNS if concern.has_card)


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows a concern has, and its first moment."""

    concern: Concern
    number: int
    since: datetime | None

    @property
    def shown(self) -> str:
        return f"{COUNTED - 1}+" if self.number >= COUNTED else str(self.number)

    @property
    def tone(self) -> str:
        return self.concern.tone if self.number else "good"


def counts(of: Sequence[Concern] = CARDS) -> list[Count]:
    """How many rows each has, in order; one statement, and no more rows read than are counted."""
    parts = [
        f"SELECT {n}, count(*), min(since) FROM"
        f" (SELECT {one.since} AS since FROM {one.rows} LIMIT {COUNTED}) AS rows"
        for n, one in enumerate(of)
    ]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts))
        found = {n: (number, since) for n, number, since in cursor.fetchall()}
    return [Count(one, *found[n]) for n, one in enumerate(of)]


_THROUGH = """ AND EXISTS (SELECT 1 FROM ledgers_message tm
    JOIN ledgers_channel tc ON tc.id = tm.channel_id
    WHERE tm.id = d.message_id AND tc.slug = %(channel)s)"""


def rows_of(concern: Concern, channel: str | None = None) -> list[tuple[int, datetime]]:
    """Ids of the first rows of a concern, of one channel or of all, each with its moment."""
    through = "" if channel is None else _THROUGH
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT d.id, {concern.since} AS since FROM {concern.rows}{through} ORDER BY 2, 1"
            f" LIMIT {LISTED}",
            {"channel": channel},
        )
        return list(cursor.fetchall())
