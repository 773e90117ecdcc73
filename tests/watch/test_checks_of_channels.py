"""What moves and what ended on each channel, and what the ledgers owe each other: pure."""

from dataclasses import replace
from typing import Any

import pytest

from delivery.watch.checks import BY_NAME, State
from delivery.watch.figures import ChannelFigures, Figures, Reports, Some
from tests.watch.test_checks import ago, figures, only


def channel(**fields: Any) -> ChannelFigures:
    return ChannelFigures("a", **{"created_at": ago(9e5)} | fields)


@pytest.mark.parametrize(
    ("waiting_s", "success_s", "state"),
    [
        (None, 9e4, State.OK),  # nothing is owed: it may be silent for a day
        (1_799, 9e4, State.OK),
        (1_800, 9e4, State.LATE),
        (3_600, 9e4, State.RED),
        (9_000, 60, State.OK),  # one is stuck and others go through
        (9_000, None, State.RED),
    ],
)
def test_nothing_delivered_for_the_usual_interval_while_something_is_owed(
    waiting_s: float | None, success_s: float | None, state: State
) -> None:
    one = channel(
        waiting_since=None if waiting_s is None else ago(waiting_s),
        last_success=None if success_s is None else ago(success_s),
    )

    assert only("success", figures(one)).state is state


def test_a_channel_that_never_delivered_says_never() -> None:
    found = only("success", figures(channel(waiting_since=ago(2_000))))

    assert found.sentence.startswith("Channel a has never delivered anything")


@pytest.mark.parametrize(
    ("quiet_s", "state"), [(86_000, State.OK), (86_401, State.LATE), (88_201, State.RED)]
)
def test_what_was_promised_to_come_every_day_is_missed_though_nothing_is_owed(
    quiet_s: float, state: State
) -> None:
    one = channel(expected_every_s=86_400, last_success=ago(quiet_s))

    assert only("success", figures(one)).state is state


@pytest.mark.parametrize(
    ("why", "because"),
    [
        ({"overdue": 1, "due_at": ago(90)}, "overdue"),
        ({"refused": "credential refused: 401", "refused_since": ago(9)}, "credential"),
        ({"held": "credential k unavailable", "held_since": ago(9)}, "held"),
        ({}, ""),
    ],
)
def test_no_success_is_no_second_alarm_where_another_says_why(
    why: dict[str, Any], because: str
) -> None:
    found = only("success", figures(channel(waiting_since=ago(2_000), **why)))

    assert found.because == because


def test_each_channel_has_a_grace_of_its_own() -> None:
    patient = channel(overdue=1, due_at=ago(400), owed_since=ago(400), grace_s=600)

    assert only("overdue", figures(patient)).state is State.OK
    assert only("overdue", figures(replace(patient, grace_s=10))).state is State.RED


@pytest.mark.parametrize(("age_s", "state"), [(59, State.OK), (61, State.LATE), (301, State.RED)])
def test_a_lease_that_is_over_and_that_nobody_takes_over_is_stuck(
    age_s: float, state: State
) -> None:
    assert only("stuck", figures(channel(stuck=Some(1, ago(age_s))))).state is state


@pytest.mark.parametrize(("age_s", "state"), [(30, State.OK), (61, State.LATE), (3_601, State.RED)])
def test_what_a_missing_secret_holds_is_late_and_then_red(age_s: float, state: State) -> None:
    one = channel(held="credential k unavailable: KEY is not set", held_since=ago(age_s))

    found = only("held", figures(one))

    assert found.state is state
    assert state is State.OK or "KEY is not set" in found.sentence


@pytest.mark.parametrize(("left_s", "state"), [(3_000, State.LATE), (600, State.RED)])
def test_a_window_that_closes_is_late_within_the_hour_and_red_near_its_end(
    left_s: float, state: State
) -> None:
    assert only("closing", figures(channel(closing=Some(2, ago(-left_s))))).state is state


@pytest.mark.parametrize("check", ["failed", "expired", "disputed"])
def test_what_ended_badly_and_nobody_decided_is_late(check: str) -> None:
    one = channel(**{check: Some(2, ago(500), ago(60))})

    found = only(check, figures(one))

    assert (found.state, found.newest) == (State.LATE, ago(60))
    assert "2 deliveries on channel a" in found.sentence
    assert only(check, figures(channel())).state is State.OK


@pytest.mark.parametrize(
    ("accepted", "unreported", "state"),
    [(20, 10, State.OK), (20, 11, State.LATE), (3, 3, State.OK), (4, 4, State.LATE)],
)
def test_more_than_half_without_a_report_is_late(
    accepted: int, unreported: int, state: State
) -> None:
    one = channel(reports=Reports(accepted, unreported, ago(2_000)))

    assert only("reports", figures(one)).state is state


def test_pending_for_long_and_accepted_without_a_report_are_two_different_alarms() -> None:
    one = channel(
        overdue=1, due_at=ago(90), owed_since=ago(90), reports=Reports(lost=Some(1, ago(3e5)))
    )

    late = {
        found.check
        for name in BY_NAME
        for found in BY_NAME[name].look(figures(one))
        if found.state is not State.OK
    }

    assert late == {"overdue", "unreported"}


def owing(announced: Some, ended: int = 0) -> Figures:
    return replace(figures(), announced=announced, announced_ended=ended)


def test_an_announced_message_that_nobody_recorded_is_red_once_its_run_has_ended() -> None:
    assert only("announced", owing(Some(1, ago(30)))).state is State.OK
    assert only("announced", owing(Some(1, ago(61)))).state is State.LATE
    assert only("announced", owing(Some(1, ago(301)))).state is State.RED
    assert only("announced", owing(Some(1, ago(1)), ended=1)).state is State.RED


def test_orphans_of_either_side_are_red_at_once_and_told_together() -> None:
    seen = replace(figures(), unqueued=Some(1, ago(9)), queued=Some(2, ago(5)))

    found = only("orphans", seen)

    assert found.sentence == (
        "1 delivery needs a machine and is not in its queue; 2 deliveries are queued although they"
        " ended."
    )
    assert (found.state, found.since) == (State.RED, ago(9))


def test_a_run_in_a_crash_loop_is_late_from_the_first_moment() -> None:
    seen = replace(figures(), crash_loops=Some(1, ago(1), ago(1)))

    assert only("crash_loop", seen).state is State.LATE
