"""Many channels share a worker's places fairly, and its limits are kept by all workers together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.claim import claim, shares
from ledgers.models import Channel, OutboxItem
from tests.crash.clock import pass_s
from tests.delivery.senders import Desk
from tests.factories import deliveries, make_channel, record, sweep

demands = st.dictionaries(st.integers(1, 8), st.integers(-5, 60), max_size=8)


@pytest.mark.parametrize(
    ("free", "demand", "given_to_each"),
    [
        (10, {}, {}),
        (0, {1: 5}, {}),
        (10, {1: 3}, {1: 3}),
        (10, {1: 100}, {1: 10}),
        (10, {1: 100, 2: 100}, {1: 5, 2: 5}),
        (10, {1: 100, 2: 2}, {1: 8, 2: 2}),
        (10, {1: 100, 2: 2, 3: 3}, {1: 5, 2: 2, 3: 3}),
        (10, {1: 100, 2: 0}, {1: 10}),
        (10, {1: 100, 2: -3}, {1: 10}),
    ],
)
def test_a_long_queue_takes_only_what_the_others_leave(
    free: int, demand: dict[int, int], given_to_each: dict[int, int]
) -> None:
    assert shares(free, demand, {}) == given_to_each


@given(st.integers(0, 64), demands)
def test_no_place_is_given_twice_or_to_nobody_or_left_while_somebody_is_hungry(
    free: int, demand: dict[int, int]
) -> None:
    wanted = {channel: max(0, count) for channel, count in demand.items()}

    given_out = shares(free, demand, {})

    assert sum(given_out.values()) == min(free, sum(wanted.values()))
    assert all(0 < count <= wanted[channel] for channel, count in given_out.items())


@given(st.integers(1, 64), demands)
def test_whoever_gets_less_than_it_wants_gets_at_most_one_less_than_anybody_else(
    free: int, demand: dict[int, int]
) -> None:
    given_out = shares(free, demand, {})

    hungry = [given_out.get(c, 0) for c, count in demand.items() if count > given_out.get(c, 0)]
    if hungry:
        assert max(given_out.values()) <= min(hungry) + 1


def test_the_place_that_is_free_goes_to_the_channel_with_the_fewest_calls_under_way() -> None:
    given_out = shares(1, {1: 9, 2: 9, 3: 9}, {1: 2, 2: 2, 3: 1})

    assert given_out == {3: 1}


def test_when_all_are_even_no_channel_is_always_the_one_that_waits() -> None:
    served = {channel for _ in range(200) for channel in shares(1, {1: 9, 2: 9, 3: 9}, {})}

    assert served == {1, 2, 3}


@pytest.mark.django_db
def test_a_channel_takes_no_more_than_its_limit_less_what_is_under_way_anywhere() -> None:
    limited = make_channel(concurrency=3)
    record([f"tg:{n}" for n in range(10)])

    first = claim(10, {}, 10)
    second = claim(10, {limited.pk: 3}, 10)
    pass_s(3600)
    third = claim(10, {}, 10)

    assert (len(first), len(second), len(third)) == (3, 0, 3)


@pytest.mark.django_db
def test_a_limit_that_was_lowered_below_what_is_under_way_takes_nothing_from_others() -> None:
    limited, other = make_channel(), make_channel("others")
    record([f"tg:{n}" for n in range(5)])
    claim(10, {}, 10)
    Channel.objects.filter(pk=limited.pk).update(concurrency=2)
    record([f"tg:{n}" for n in range(5)], run_id="run-2")
    record([f"tg:{n}" for n in range(20)], run_id="run-3", channel="others")

    claimed = claim(10, {limited.pk: 5}, 10)

    assert {item.channel_id for item in claimed} == {other.pk}
    assert len(claimed) == 10


@pytest.mark.django_db
def test_one_channel_leaves_places_of_the_pool_to_others() -> None:
    busy, other = make_channel(), make_channel("others")
    record([f"tg:{n}" for n in range(50)])
    record(["tg:1"], run_id="run-2", channel="others")

    claimed = claim(10, {busy.pk: 8}, 8)

    assert [item.channel_id for item in claimed] == [other.pk]


@pytest.mark.django_db(transaction=True)
def test_when_one_place_is_free_at_a_time_no_channel_starves_another(desk: Desk) -> None:
    make_channel()
    make_channel("others")
    record([f"tg:{n}" for n in range(30)])
    record([f"sms:{n}" for n in range(10)], run_id="run-2", channel="others")

    sweep(concurrency=1)

    order = [one.destination.partition(":")[0] for one in desk.received]
    assert {row.status for row in [*deliveries(), *deliveries("run-2")]} == {"delivered"}
    assert "sms" in order[:20]


@pytest.mark.django_db(transaction=True)
def test_a_rate_is_kept_and_a_claim_that_sends_nothing_gives_its_tokens_back(
    desk: Desk,
) -> None:
    make_channel(rate_per_s=3)
    record([f"tg:{n}" for n in range(10)])

    sweep()

    # One second's worth at once; what the shift's own duration refills is at most a few more.
    assert 3 <= len(desk.received) < 10
    assert OutboxItem.objects.filter(leased=False).count() == 10 - len(desk.received)
