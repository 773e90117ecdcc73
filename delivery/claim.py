"""Claim: lease what is due, with a fair share for every channel."""

from collections.abc import Mapping

from django.db import connection

from ledgers import outbox
from ledgers.outbox import Claimed


def claim(free: int, busy: Mapping[int, int]) -> list[Claimed]:
    """Lease up to `free` due items.

    Args:
        free: how many calls could start now.
        busy: calls of this worker that are under way, by channel id.
    """
    return outbox.claim(shares(free, _demand(free, busy)))


def shares(free: int, demand: Mapping[int, int]) -> dict[int, int]:
    """Divide free places among channels: a long queue takes only what the others leave."""
    given = dict.fromkeys(demand, 0)
    hungry = sorted(demand, key=lambda channel: demand[channel])
    while hungry and free > 0:
        part = max(1, free // len(hungry))
        for channel in list(hungry):
            more = min(part, demand[channel] - given[channel], free)
            given[channel] += more
            free -= more
            if given[channel] >= demand[channel]:
                hungry.remove(channel)
    return {channel: count for channel, count in given.items() if count}


def _demand(free: int, busy: Mapping[int, int]) -> dict[int, int]:
    """How many items are due on each channel, capped by what could be taken of it."""
    with connection.cursor() as cursor:
        cursor.execute(_DUE, [free])
        return {
            channel: min(due, limit - busy.get(channel, 0)) if limit else due
            for channel, limit, due in cursor.fetchall()
        }


_DUE = """
SELECT c.id, c.concurrency, (
    SELECT count(*) FROM (
        SELECT 1 FROM ledgers_outboxitem o
        WHERE o.channel_id = c.id AND o.due_at <= (SELECT clock_timestamp()) LIMIT %s
    ) AS due
) FROM ledgers_channel c"""
