"""The breaker: a route that does not answer is left alone, probed, and led back step by step."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from delivery.breaker import FIRST_PAUSE_S, LONGEST_PAUSE_S, OPEN_AFTER, Breaker

ROUTE = (1, "dead.example")


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("delivery.breaker.boottime", clock)
    return clock


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker()


def call(breaker: Breaker, outcome: str) -> str:
    """One call from its beginning to its end; why it was not made, if it was not."""
    why = breaker.admit(ROUTE)
    if not why:
        breaker.ended(ROUTE, outcome)
    return why


def opened(breaker: Breaker) -> None:
    for _ in range(OPEN_AFTER):
        assert call(breaker, "not_sent") == ""


def probes(breaker: Breaker, clock: Clock, seconds: float) -> Iterator[float]:
    """When, within so many seconds, a call is let through. Each of them fails."""
    end = clock.now + seconds
    while clock.now < end:
        if not call(breaker, "not_sent"):
            yield clock.now
        clock.now += 0.5


def test_it_opens_after_so_many_failures_in_a_row_and_not_before(breaker: Breaker) -> None:
    said = [call(breaker, "ambiguous") for _ in range(OPEN_AFTER + 1)]

    assert said[:-1] == [""] * OPEN_AFTER
    assert said[-1].startswith("breaker open")
    assert breaker.open_routes() == [ROUTE]


@pytest.mark.parametrize(
    "answer", ["accepted", "refused", "unauthorised", "deferred", "in_flight", "mismatch"]
)
def test_any_word_from_the_other_side_begins_the_count_anew(breaker: Breaker, answer: str) -> None:
    for outcome in ["not_sent"] * (OPEN_AFTER - 1) + [answer] + ["not_sent"] * (OPEN_AFTER - 1):
        assert call(breaker, outcome) == ""

    assert breaker.open_routes() == []


def test_what_was_held_back_by_ourselves_says_nothing_about_the_other_side(
    breaker: Breaker,
) -> None:
    for _ in range(OPEN_AFTER - 1):
        call(breaker, "not_sent")
    for _ in range(OPEN_AFTER):
        call(breaker, "not_tried")

    between = breaker.open_routes()
    call(breaker, "not_sent")

    assert (between, breaker.open_routes()) == ([], [ROUTE])


def test_other_routes_go_on(breaker: Breaker) -> None:
    opened(breaker)

    assert breaker.admit((1, "alive.example")) == ""
    assert breaker.admit((2, "dead.example")) == ""


def test_while_open_it_is_probed_now_and_then_ever_less_often(
    breaker: Breaker, clock: Clock
) -> None:
    opened(breaker)

    moments = [clock.now, *probes(breaker, clock, 600)]

    pauses = [later - earlier for earlier, later in pairwise(moments)]
    assert pauses[:5] == [FIRST_PAUSE_S, 4, 8, 16, 32]
    assert set(pauses[5:]) == {LONGEST_PAUSE_S}


def test_one_probe_at_a_time_however_long_it_takes(breaker: Breaker, clock: Clock) -> None:
    opened(breaker)
    clock.now += FIRST_PAUSE_S

    first = breaker.admit(ROUTE)
    clock.now += 10 * LONGEST_PAUSE_S
    second = breaker.admit(ROUTE)
    breaker.ended(ROUTE, "ambiguous")
    third = breaker.admit(ROUTE)

    assert first == ""
    assert second.startswith("breaker open")
    assert third.startswith("breaker open")  # the pause begins when the probe has failed


def test_a_probe_waits_for_the_calls_that_were_under_way_when_it_opened(
    breaker: Breaker, clock: Clock
) -> None:
    slow = 5
    for _ in range(slow):
        breaker.admit(ROUTE)
    opened(breaker)
    clock.now += LONGEST_PAUSE_S

    meanwhile = breaker.admit(ROUTE)
    for _ in range(slow):
        breaker.ended(ROUTE, "not_tried")

    assert meanwhile.startswith("breaker open")
    assert breaker.admit(ROUTE) == ""


def test_late_failures_of_old_calls_do_not_make_the_pause_longer(
    breaker: Breaker, clock: Clock
) -> None:
    for _ in range(40):
        breaker.admit(ROUTE)
    for _ in range(40):
        breaker.ended(ROUTE, "ambiguous")

    clock.now += FIRST_PAUSE_S

    assert breaker.admit(ROUTE) == ""


def test_a_probe_that_was_held_back_costs_no_longer_pause(breaker: Breaker, clock: Clock) -> None:
    opened(breaker)
    clock.now += FIRST_PAUSE_S

    call(breaker, "not_tried")

    assert breaker.admit(ROUTE) == ""


@pytest.mark.parametrize("answer", ["accepted", "refused", "deferred"])
def test_after_the_first_answer_the_calls_grow_step_by_step(
    breaker: Breaker, clock: Clock, answer: str
) -> None:
    opened(breaker)
    clock.now += FIRST_PAUSE_S
    call(breaker, answer)

    steps = []
    for _ in range(6):
        admitted = 0
        while admitted < 100 and not breaker.admit(ROUTE):
            admitted += 1
        for _ in range(admitted - 1):
            breaker.ended(ROUTE, "not_tried")
        breaker.ended(ROUTE, "accepted")
        steps.append(admitted)

    assert steps == [1, 2, 4, 8, 16, 100]


def test_a_failure_on_the_way_back_opens_it_again(breaker: Breaker, clock: Clock) -> None:
    opened(breaker)
    clock.now += FIRST_PAUSE_S
    call(breaker, "accepted")

    call(breaker, "not_sent")

    assert breaker.open_routes() == [ROUTE]
    clock.now += FIRST_PAUSE_S
    assert breaker.admit(ROUTE) == ""


def test_why_it_holds_is_said_in_the_same_words_however_often_it_failed(
    breaker: Breaker, clock: Clock
) -> None:
    opened(breaker)

    said = set()
    for _ in range(400):
        said.add(call(breaker, "not_sent"))
        clock.now += 1

    assert len(said - {""}) == 1  # each new reason is an event in the trail of every held row


def test_it_tells_once_how_many_held_calls_may_be_tried_now(breaker: Breaker, clock: Clock) -> None:
    opened(breaker)
    clock.now += FIRST_PAUSE_S
    call(breaker, "accepted")
    call(breaker, "accepted")

    freed = breaker.take_freed()

    assert freed == {1: 2}
    assert breaker.take_freed() == {}


def test_a_route_that_works_is_not_remembered(breaker: Breaker) -> None:
    for number in range(100):
        breaker.admit((1, f"host-{number}"))
        breaker.ended((1, f"host-{number}"), "accepted")

    assert breaker._states == {}
