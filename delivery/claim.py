"""Claim: lease what is due, with a fair share for every channel and within its limits."""

import heapq
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from typing import Any

from django.db import connection, transaction

from delivery import limits
from ledgers import outbox
from ledgers.outbox import Claimed


def claim(free: int, busy: Mapping[int, int], per_channel: int) -> list[Claimed]:
    """Lease up to `free` due items.

    Args:
        free: how many calls could start now.
        busy: calls of this worker that are under way, by channel id.
        per_channel: how many calls of this worker one channel may have under way. The pool has
            more places than that: a channel whose calls all hang leaves some to the others.
    """
    with transaction.atomic():
        demand, metered = _demand(free, busy, per_channel)
        quotas = shares(free, demand, busy)
        granted = limits.reserve({c: n for c, n in quotas.items() if c in metered})
        claimed = outbox.claim(quotas | granted)
        used = Counter(item.channel_id for item in claimed)
        limits.refund({channel: count - used[channel] for channel, count in granted.items()})
    return claimed


def give_back(claimed: Iterable[Claimed], submitted: Iterable[int], metered: Set[int]) -> None:
    """Return the rate tokens of claims that led to no submission.

    Args:
        claimed: what was leased.
        submitted: the channel ids of the submissions that followed.
        metered: the channels that have a rate limit.
    """
    taken = Counter(item.channel_id for item in claimed if item.channel_id in metered)
    limits.refund(taken - Counter(submitted))


def shares(free: int, demand: Mapping[int, int], busy: Mapping[int, int]) -> dict[int, int]:
    """Divide free places among channels: a long queue takes only what the others leave.

    Each place goes to the channel with the fewest calls under way, and by chance where they are
    even: when one place is free at a time, a fixed order would starve whoever comes last.
    """
    given: Counter[int] = Counter()
    hungry = [
        (busy.get(channel, 0), random.random(), channel)  # noqa: S311  chance, not secrecy
        for channel, count in demand.items()
        if count > 0
    ]
    heapq.heapify(hungry)
    while hungry and free > 0:
        load, tie, channel = heapq.heappop(hungry)
        given[channel] += 1
        free -= 1
        if given[channel] < demand[channel]:
            heapq.heappush(hungry, (load + 1, tie, channel))
    return dict(given)


def _demand(
    free: int, busy: Mapping[int, int], per_channel: int
) -> tuple[dict[int, int], set[int]]:
    """How many items each channel could use a place for, and which channels have a rate limit."""
    with connection.cursor() as cursor:
        room = _room(cursor)
        cursor.execute(_DUE, [free])
        rows = cursor.fetchall()
    demand = {
        channel: min(due, per_channel - busy.get(channel, 0), room.get(channel, due))
        for channel, due, _ in rows
    }
    return demand, {channel for channel, _, has_rate in rows if has_rate}


def _room(cursor: Any) -> dict[int, int]:
    """How many calls more each channel with a limit may have under way, over all workers.

    The channel's row is locked first, so that two workers do not both take the last place. Where
    somebody else has it there is no room this time: a worker frozen in its claim, or a change that
    nobody commits, must not stop the other channels.
    """
    cursor.execute(_LIMITED)
    limits_of = dict(cursor.fetchall())
    if not limits_of:
        return {}
    cursor.execute(_UNDER_WAY, [list(limits_of)])
    under_way = dict(cursor.fetchall())
    return {channel: limit - under_way.get(channel, 0) for channel, limit in limits_of.items()}


_LIMITED = """
WITH mine AS (
    SELECT id, concurrency FROM ledgers_channel WHERE concurrency > 0
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
)
SELECT c.id, COALESCE(m.concurrency, 0) FROM ledgers_channel c LEFT JOIN mine m ON m.id = c.id
WHERE c.concurrency > 0"""

_UNDER_WAY = """
SELECT channel_id, count(*) FROM ledgers_outboxitem
WHERE channel_id = ANY(%s) AND leased AND due_at > (SELECT clock_timestamp()) GROUP BY channel_id"""

_DUE = """
SELECT c.id, due.count, c.rate_per_s > 0 FROM ledgers_channel c CROSS JOIN LATERAL (
    SELECT count(*) FROM (
        SELECT 1 FROM ledgers_outboxitem o
        WHERE o.channel_id = c.id AND o.due_at <= (SELECT clock_timestamp()) LIMIT %s
    ) AS capped
) AS due WHERE due.count > 0"""
