"""A seed means the same work and the same faults, whenever it is asked."""

from itertools import pairwise

from tests.chaos.faults import LANES
from tests.chaos.plan import CHANNELS, schedule, work_of

NAMED = [[(fault.__name__, longest_s) for fault, longest_s in lane] for lane in LANES]


def test_a_seed_repeats_its_faults_and_another_has_others() -> None:
    assert schedule(7, 60, NAMED) == schedule(7, 60, NAMED)
    assert schedule(7, 60, NAMED) != schedule(8, 60, NAMED)


def test_a_minute_has_every_fault() -> None:
    wanted = {name for lane in NAMED for name, _ in lane}

    for seed in range(50):
        assert {one.fault for one in schedule(seed, 75, NAMED)} == wanted


def test_faults_of_one_lane_follow_one_another_and_end() -> None:
    for lane in NAMED:
        strikes = schedule(3, 300, [lane])

        assert all(one.until < other.at for one, other in pairwise(strikes))
        assert all(one.at < one.until < one.at + max(s for _, s in lane) + 0.1 for one in strikes)


def test_work_is_the_same_whenever_it_is_asked_and_no_two_messages_share_a_room() -> None:
    works = [work for number in range(100) for work in work_of(5, "ada", number)]
    again = [work for number in range(100) for work in work_of(5, "ada", number)]
    rooms = [room for work in works for message in work.messages for room in message.to]

    assert works == again
    assert len(rooms) == len(set(rooms))
    assert {message.channel for work in works for message in work.messages} == set(CHANNELS)
