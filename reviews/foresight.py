"""What lifting a pause or a hold would do, by the same rules that the workers use."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db import connection

from delivery.history import Case, read
from delivery.next_move import Kind, NextMove, next_move
from delivery.ways import Ways
from ledgers.states import DeliveryStatus

LOOKED_AT = 200
COUNTED = 10_000
SHOWN = 12
_WAITING = """
SELECT o.delivery_id FROM ledgers_outboxitem o WHERE o.channel_id = ANY(%s)
ORDER BY o.due_at LIMIT %s"""


@dataclass(frozen=True, slots=True)
class Next:
    """One delivery, and what becomes of it."""

    delivery_id: str
    destination: str
    status: str
    course: str


@dataclass(frozen=True, slots=True)
class Foresight:
    """`waiting`: all that is owed, at most `COUNTED`; the rest is about the first `looked_at`."""

    waiting: int
    looked_at: int
    courses: tuple[tuple[str, int], ...]
    first: tuple[Next, ...]

    @property
    def waiting_shown(self) -> str:
        return f"{COUNTED:,}+" if self.waiting >= COUNTED else f"{self.waiting:,}"


def foresee(channels: Sequence[int], lifted: str) -> Foresight:
    """What workers would do with what these channels owe, were `lifted` not among its holds.

    Args:
        channels: their ids.
        lifted: how the hold begins that is to go: `delivery.switches.PAUSED` or `HELD`.
    """
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, [list(channels), COUNTED])
        ids = [row_id for (row_id,) in cursor.fetchall()]
    cases = read(ids[:LOOKED_AT], Ways())
    nexts = [_next(case, lifted) for case in cases]
    courses = Counter(one.course for one in nexts)
    return Foresight(len(ids), len(cases), tuple(courses.most_common()), tuple(nexts[:SHOWN]))


def _next(case: Case, lifted: str) -> Next:
    # Whether the secret can be read is the worker's affair: this process may not have it.
    held = tuple(h for h in case.facts.held if not h.startswith(lifted) and "unavailable:" not in h)
    course = _course(next_move(replace(case.facts, held=held), case.now))
    return Next(str(case.delivery_id), case.destination, str(case.status), course)


def _course(move: NextMove) -> str:
    if move.kind is Kind.FINISH and move.status == DeliveryStatus.EXPIRED:
        return "expired meanwhile: not sent"
    if move.kind is Kind.WAIT and move.rule in {"held", "earlier-part"}:
        return "still held by something else"
    return _COURSES[move.kind]


_COURSES = {
    Kind.SUBMIT: "sent at once",
    Kind.FINISH: "settled without sending",
    Kind.LOOK_UP: "searched at the destination first",
    Kind.ASK: "waits for a person",
    Kind.REST: "waits for a person",
    Kind.WAIT: "sent later, when its time comes",
}
