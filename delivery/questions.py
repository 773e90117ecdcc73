"""How many questions a provider is asked, over all workers: looking must not get the sender banned.

One row per channel paces them evenly. A search that finds no room gets a turn of its own, later,
and takes no worker's place until then; and where that would be too late for the same key, the key
settles the question instead (`Facts.no_question_before`). What a search really asked, page by page,
is charged when it has ended, and so is asking whose a credential is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from django.db import connection

from delivery.decide import Decided, decide
from delivery.next_move import Kind
from delivery.ways import Ways

# So much of the pace may be caught up with at once: a worker wakes no more often than this.
SLACK_S = 1.0
MINUTE_S = 60.0


def interval_s(per_minute: float) -> float:
    """Seconds between two questions, so that no minute has more of them than that."""
    return (MINUTE_S + SLACK_S) / per_minute


def within_budget(decided: Sequence[Decided], ways: Ways) -> list[Decided]:
    """The same decisions; a search that has no room yet is decided again, knowing that."""
    wanted: dict[int, list[Decided]] = {}
    for one in decided:
        looks = one.move.kind == Kind.LOOK_UP and one.move.status == one.case.status
        if looks and ways.of(one.case.channel_id).questions_per_minute:
            wanted.setdefault(one.case.channel_id, []).append(one)
    turns: dict[int, datetime | None] = {}
    for channel_id, items in sorted(wanted.items()):
        each_s = interval_s(ways.of(channel_id).questions_per_minute)
        granted = reserve(channel_id, len(items), each_s)
        turns |= {one.case.id: turn for one, turn in zip(items, granted, strict=True)}
    return [_in_turn(one, turns.get(one.case.id)) for one in decided]


def _in_turn(one: Decided, turn: datetime | None) -> Decided:
    if turn is None:
        return one
    return decide(one.case, replace(one.facts, no_question_before=turn))


def reserve(channel_id: int, count: int, each_s: float) -> list[datetime | None]:
    """Room for so many questions: None for one that may be asked now, else when its turn comes.

    Args:
        channel_id: whose provider.
        count: how many are wanted.
        each_s: seconds between two.
    """
    with connection.cursor() as cursor:
        cursor.execute(_MAKE, [channel_id])
        cursor.execute(_TAKE, {"channel": channel_id, "count": count, "each": each_s,
                               "slack": SLACK_S})  # fmt: skip
        granted, first_turn = cursor.fetchone()
        cursor.execute(
            "SELECT %s::timestamptz + make_interval(secs => %s * n) FROM generate_series(0, %s) n",
            [first_turn, each_s, count - granted - 1],
        )
        return [None] * granted + [at for (at,) in cursor.fetchall()]


def has_room(channel_id: int, ways: Ways) -> bool:
    """Take room for one question now, if there is any; nobody waits for a turn."""
    per_minute = ways.of(channel_id).questions_per_minute
    if not per_minute:
        return True
    with connection.cursor() as cursor:
        cursor.execute(_MAKE, [channel_id])
        cursor.execute(_TAKE_ONE, [interval_s(per_minute), channel_id, SLACK_S])
        return cursor.fetchone() is not None


def charge(asked: Mapping[int, int], ways: Ways) -> None:
    """Count what searches really asked, besides the one question that each had reserved."""
    for channel_id, more in sorted(asked.items()):
        charge_one(channel_id, more, ways.of(channel_id).questions_per_minute)


def charge_one(channel_id: int, count: int, per_minute: float) -> None:
    """Count questions that were asked without room for them, such as whose a credential is."""
    if count <= 0 or not per_minute:
        return
    with connection.cursor() as cursor:
        cursor.execute(_MAKE, [channel_id])
        cursor.execute(_CHARGE, [count * interval_s(per_minute), channel_id])


_MAKE = """
INSERT INTO delivery_questionmeter (channel_id, free_at, turn_at)
VALUES (%s, clock_timestamp(), clock_timestamp()) ON CONFLICT (channel_id) DO NOTHING"""

# `free_at` is when the next question is due at an even pace; it may be asked so much earlier as
# lets a worker catch up. `turn_at` is the last turn that was given to one that has to wait.
_TAKE = """
UPDATE delivery_questionmeter m
SET free_at = GREATEST(m.free_at, a.now) + make_interval(secs => %(each)s * a.granted),
    turn_at = GREATEST(m.turn_at, m.free_at, a.now)
        + make_interval(secs => %(each)s * (%(count)s - a.granted))
FROM (
    SELECT k.channel_id, k.now, GREATEST(k.turn_at, k.free_at, k.now)
            + make_interval(secs => %(each)s) AS first_turn,
        GREATEST(0, LEAST(%(count)s, 1 + floor((%(slack)s - GREATEST(0,
            extract(epoch FROM k.free_at - k.now)::float8)) / %(each)s)))::int AS granted
    FROM (
        SELECT channel_id, free_at, turn_at, clock_timestamp() AS now
        FROM delivery_questionmeter WHERE channel_id = %(channel)s FOR UPDATE
    ) AS k
) AS a
WHERE m.channel_id = a.channel_id
RETURNING a.granted, a.first_turn"""

_TAKE_ONE = """
UPDATE delivery_questionmeter
SET free_at = GREATEST(free_at, clock_timestamp()) + make_interval(secs => %s)
WHERE channel_id = %s AND free_at <= clock_timestamp() + make_interval(secs => %s)
RETURNING 1"""

_CHARGE = """
UPDATE delivery_questionmeter
SET free_at = GREATEST(free_at, clock_timestamp()) + make_interval(secs => %s)
WHERE channel_id = %s"""
