"""A channel's rate and its calls at once are kept by all workers together."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
from django.db import connection

from delivery import limits
from delivery.claim import claim
from delivery.models import ChannelMeter
from delivery.simulator.client import Simulator
from delivery.worker import Worker
from ledgers.models import Channel, Credential, OutboxItem
from tests.crash.clock import pass_s
from tests.delivery.senders import Desk
from tests.factories import deliveries, make_channel, record, sweep
from tests.retry.crowds import at_once, working
from tests.retry.ways import DAY, rooms

SLOW = 1e-4  # tokens per second: nothing to speak of is refilled during a test


def tokens() -> float:
    return ChannelMeter.objects.get().tokens


@contextmanager
def books(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Every token taken (positive) and given back (negative) meanwhile."""
    entries: list[int] = []
    reserve, refund = limits.reserve, limits.refund

    def reserving(quotas: Mapping[int, int]) -> dict[int, int]:
        granted = reserve(quotas)
        entries.extend(granted.values())
        return granted

    def refunding(unused: Mapping[int, int]) -> None:
        entries.extend(-count for count in unused.values() if count > 0)
        refund(unused)

    with monkeypatch.context() as patched:
        patched.setattr(limits, "reserve", reserving)
        patched.setattr(limits, "refund", refunding)
        yield entries


def test_twenty_dispatchers_of_one_item_use_one_token_and_send_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_channel(rate_per_s=30)
    record()

    with books(monkeypatch) as entries:
        claims = at_once(20, lambda: sweep(1).claimed)

    assert sorted(claims) == [0] * 19 + [1]
    assert sum(entries) == 1
    assert desk.effects("tg:1001") == 1


def test_two_workers_together_send_no_more_than_the_rate_allows(desk: Desk) -> None:
    make_channel(rate_per_s=SLOW)  # the bucket holds one token
    record([f"tg:{n}" for n in range(10)])

    at_once(2, lambda: sweep(4).claimed)
    first = len(desk.received)
    for _ in range(3):
        at_once(2, lambda: sweep(4).claimed)
    without_time = len(desk.received)
    pass_s(1 / SLOW)
    at_once(2, lambda: sweep(4).claimed)

    assert (first, without_time, len(desk.received)) == (1, 1, 2)
    assert OutboxItem.objects.filter(leased=False).count() == 8


def test_a_bucket_holds_no_more_than_one_second_of_the_rate_however_long_nothing_came(
    desk: Desk,
) -> None:
    channel = make_channel(rate_per_s=3)
    record(["tg:first"])
    sweep()
    pass_s(DAY)

    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        granted = limits.reserve({channel.pk: 100})
        cursor.execute("ROLLBACK")

    assert granted == {channel.pk: 3}


def test_what_is_held_uses_no_tokens(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    make_channel(rate_per_s=SLOW)
    record()
    Credential.objects.update(destination_rules=[])

    with books(monkeypatch) as entries:
        sweep()

    assert (desk.received, sum(entries)) == ([], 0)
    assert tokens() == pytest.approx(1, abs=0.01)


def test_a_channel_with_a_rate_does_not_slow_another(desk: Desk) -> None:
    make_channel(rate_per_s=SLOW)
    make_channel("others")
    record([f"tg:{n}" for n in range(20)])
    record([f"sms:{n}" for n in range(20)], run_id="run-2", channel="others")

    sweep()

    assert {row.status for row in deliveries("run-2")} == {"delivered"}
    assert sum(one.destination.startswith("tg:") for one in desk.received) == 1


LIMIT = 3


def test_two_workers_together_have_no_more_calls_under_way_than_the_channel_allows(
    recipient: Simulator,
) -> None:
    rooms(recipient, concurrency=LIMIT)
    everybody = [f"room:{n}" for n in range(12)]
    recipient.behave(always="accept_and_wait")
    record(everybody)

    with working(Worker("shift", concurrency=8)), working(Worker("shift", concurrency=8)):
        under_way = []
        for released in range(0, len(everybody), LIMIT):
            recipient.wait_for("submissions", released + LIMIT)
            claimable = claim(10, {}, 10)
            under_way.append((recipient.submissions() - released, len(claimable)))
            assert recipient.release() == LIMIT

    assert under_way == [(LIMIT, 0)] * 4
    assert {row.status for row in deliveries()} == {"delivered"}
    assert recipient.effects() == recipient.submissions() == len(everybody)


def test_the_places_of_a_worker_that_died_are_free_when_its_leases_are_over(desk: Desk) -> None:
    channel = make_channel(concurrency=2, lease_s=60)
    record([f"tg:{n}" for n in range(5)])
    claim(10, {}, 10)  # and then it dies

    before = claim(10, {}, 10)
    pass_s(61)
    after = claim(10, {}, 10)

    assert (before, len(after)) == ([], 2)
    assert {item.channel_id for item in after} == {channel.pk}


def test_a_limit_lifted_meanwhile_counts_from_the_next_claim(desk: Desk) -> None:
    make_channel(concurrency=1)
    record([f"tg:{n}" for n in range(6)])
    first = claim(10, {}, 10)

    Channel.objects.update(concurrency=0)

    assert (len(first), len(claim(10, {}, 10))) == (1, 5)
