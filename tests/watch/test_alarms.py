"""From look to look: what a person is told, and what they are spared."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.watch.alarms import CALM_S, LONGEST_CALM_S, Alarm, advanced, calm_s, introduced, kept
from delivery.watch.checks import Finding, State

T0 = datetime(2026, 12, 1, 9, tzinfo=UTC)
OK, LATE, RED = State.OK, State.LATE, State.RED


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def seen(state: State, **fields: Any) -> Finding:
    return Finding("unknown", "alerts", state, f"it is {state}", T0, **fields)


def watched(*looks: tuple[float, State]) -> Alarm:
    """One alarm after these looks; it has met one way from the beginning."""
    alarm = introduced(Alarm("unknown", "alerts"), ["mail"])
    for moment, state in looks:
        alarm = advanced(alarm, seen(state), at(moment))
    return alarm


def test_the_same_trouble_is_told_once_however_often_it_is_seen() -> None:
    assert watched((0, LATE), (15, LATE), (30, LATE), (9_000, LATE)).serial == 1


def test_what_gets_worse_is_told_again() -> None:
    assert watched((0, LATE), (3_300, RED), (3_315, RED)).serial == 2


def test_what_is_over_is_told_when_it_has_been_calm() -> None:
    assert watched((0, LATE), (60, OK), (60 + CALM_S - 1, OK)).state is LATE
    over = watched((0, LATE), (60, OK), (60 + CALM_S, OK))

    assert (over.state, over.serial, over.ended_at) == (OK, 2, at(60))
    assert over.sentence == "it is late"


def test_flapping_is_one_alarm() -> None:
    looks = [(n * 60.0, LATE if n % 2 else OK) for n in range(1, 60)]

    assert watched(*looks).serial == 1


def test_what_keeps_coming_back_must_stay_away_ever_longer() -> None:
    looks = [
        (n * 200.0 + s, state) for n in range(18) for s, state in ((0, LATE), (30, OK), (160, OK))
    ]

    told = watched(*looks).serial

    assert 2 < told < 8  # an hour of it; without the growing calm it would be 36
    assert calm_s(1) == 2 * CALM_S
    assert calm_s(50) == LONGEST_CALM_S


def test_from_red_to_late_is_no_news_but_red_again_is() -> None:
    late = watched((0, RED), (60, LATE), (60 + CALM_S, LATE))
    assert (late.state, late.serial) == (LATE, 1)

    assert advanced(late, seen(RED), at(900)).serial == 2


def test_what_joins_an_old_trouble_is_told_once_an_hour_at_most() -> None:
    old = advanced(watched(), seen(RED, newest=at(0)), at(0))

    soon = advanced(old, seen(RED, newest=at(600)), at(900))
    assert soon.serial == 1
    later = advanced(soon, seen(RED, newest=at(600)), at(3_600))
    assert later.serial == 2
    assert advanced(later, seen(RED, newest=at(600)), at(9_000)).serial == 2


def test_what_another_trouble_explains_is_neither_worse_nor_better() -> None:
    for before in (watched(), watched((0, LATE))):
        assert advanced(before, seen(RED, because="worker"), at(60)) == before


def test_a_way_that_was_down_is_told_what_came_and_went() -> None:
    over = watched((0, RED), (60, OK), (60 + CALM_S, OK))

    assert over.owes("mail")
    assert not over.owes("a way that came later")


def test_a_new_way_is_told_what_is_wrong_now_and_nothing_else() -> None:
    wrong = introduced(watched((0, LATE), (10, RED)), ["new"])
    over = introduced(watched((0, RED), (60, OK), (60 + CALM_S, OK)), ["new"])

    assert wrong.owes("new")
    assert not over.owes("new")


def test_the_alarm_of_a_channel_that_is_gone_ends() -> None:
    alarms = [watched((0, LATE))]
    for moment in (60, 60 + CALM_S):
        alarms = kept(alarms, [], at(moment))

    assert [alarm.state for alarm in alarms] == [OK]


@given(st.lists(st.tuples(st.floats(1, 4_000), st.sampled_from(State)), max_size=40))
def test_whatever_happens_what_is_wrong_has_been_told_or_is_owed(
    steps: list[tuple[float, State]],
) -> None:
    alarm, moment = introduced(Alarm("unknown", "alerts"), ["mail"]), 0.0
    for pause, state in steps:
        moment += pause
        before, alarm = alarm, advanced(alarm, seen(state), at(moment))
        assert alarm.state.badness >= state.badness  # never better than what is seen
        if alarm.state.badness > before.state.badness:
            assert alarm.serial == before.serial + 1
        assert before.serial <= alarm.serial <= before.serial + 1
    if alarm.state is not OK:
        assert alarm.owes("mail")


@pytest.mark.parametrize("returns", range(8))
def test_the_calm_that_is_asked_for_has_an_end(returns: int) -> None:
    assert CALM_S <= calm_s(returns) <= LONGEST_CALM_S
