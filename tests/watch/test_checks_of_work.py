"""Workers, restarts, clocks and the scheduler, as each check sees them: pure."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from delivery.watch.checks import BY_NAME, State
from delivery.watch.checks.rhythm import rhythms
from delivery.watch.figures import (
    ChannelFigures,
    Cluster,
    Elsewhere,
    Figures,
    Some,
    WorkerFigures,
)
from tests.watch.test_checks import NOW, ago, figures, only


def worker(started_s: float = 600, **fields: Any) -> WorkerFigures:
    usual: dict[str, Any] = {"name": "h:1:a", "host": "h", "mode": "resident", "beat_at": ago(1)}
    return WorkerFigures(started_at=ago(started_s), **usual | fields)


def with_workers(*workers: WorkerFigures, due_s: float = 0, leased: int = 0) -> Figures:
    due = ChannelFigures("a", overdue=1, due_at=ago(due_s), owed_since=ago(due_s))
    return Figures(
        NOW, ago(9e5), ago(1), 1, (due,) if due_s else (), workers=workers, leased=leased
    )


@pytest.mark.parametrize(("took_s", "state"), [(80, State.OK), (95, State.RED), (None, State.RED)])
def test_workers_that_beat_and_take_nothing_for_ninety_seconds_are_deaf(
    took_s: float | None, state: State
) -> None:
    one = worker(claimed_at=None if took_s is None else ago(took_s))

    found = only("deaf", with_workers(one, due_s=200))

    assert found.state is state


def test_who_has_just_started_is_not_deaf_yet() -> None:
    assert only("deaf", with_workers(worker(started_s=30), due_s=900)).state is State.OK


def test_who_is_busy_with_a_delivery_is_not_deaf() -> None:
    assert only("deaf", with_workers(worker(), due_s=900, leased=1)).state is State.OK


def test_deaf_workers_explain_what_is_overdue() -> None:
    seen = with_workers(worker(), due_s=200)

    assert only("overdue", seen).because == "deaf"
    assert only("deaf", seen).sentence == (
        "A worker gives signs of life, and none has taken anything for 3 min 20 s, although"
        " 1 delivery is due."
    )


@pytest.mark.parametrize(
    ("offset_s", "state"),
    [(4.9, State.OK), (5.1, State.LATE), (-61, State.RED), (3_600, State.RED)],
)
def test_a_clock_more_than_five_seconds_off_is_late_and_a_minute_off_red(
    offset_s: float, state: State
) -> None:
    found = only("clock", with_workers(worker(clock_offset_s=offset_s)))

    assert found.state is state
    assert ("behind" in found.sentence) is (offset_s == -61)


def started_at(*ages_s: float, **fields: Any) -> list[WorkerFigures]:
    return [
        worker(started_s=age_s, name=f"h:{n}", beat_at=ago(age_s - 200), **fields)
        for n, age_s in enumerate(ages_s)
    ]


def test_twelve_restarts_at_even_intervals_are_named_with_interval_and_deviation() -> None:
    ages = [10 + 300 * n + (n % 3) for n in range(13)]
    workers = started_at(*ages, in_doubt=0)
    workers[5] = worker(started_s=ages[5], name="h:5", in_doubt=2)

    (found,) = BY_NAME["restarts"].look(with_workers(*workers))

    assert found.state is State.RED
    assert found.sentence.startswith("Regular restarts on h: 12 times, every 5 min ± ")
    assert "cause: external; 2 deliveries left in doubt by it are open." in found.sentence


@pytest.mark.parametrize(
    "ages",
    [
        (10,),
        (10, 310, 610),  # twice is chance
        (10, 300, 900, 1_000, 2_500, 2_600),  # crashes and people
        tuple(9_000 + 300 * n for n in range(9)),  # it has ended
        tuple(10 + 10_000 * n for n in range(8)),
    ],
    ids=["one", "few", "uneven", "over", "planned"],
)
def test_what_is_uneven_rare_or_over_is_no_rhythm(ages: tuple[float, ...]) -> None:
    assert rhythms(started_at(*ages), NOW) == []


def test_a_worker_that_crashes_again_and_again_is_named_although_nothing_is_even() -> None:
    ages = [95, 400, 1_300, 1_500, 3_500]
    crashed = [worker(a + 50, name=f"h:{a}", beat_at=ago(a)) for a in ages]

    found = only("restarts", with_workers(*crashed))

    assert found.state is State.LATE
    assert found.sentence.startswith("5 workers on h ended without a word within the last hour")
    orderly = [replace(one, stopped_at=one.beat_at) for one in crashed]
    assert only("restarts", with_workers(*orderly)).state is State.OK
    assert only("restarts", with_workers(*crashed[:4])).state is State.OK


def test_a_channel_that_may_send_once_in_two_minutes_makes_nobody_deaf() -> None:
    seen = with_workers(worker(), due_s=900)
    (slow,) = seen.channels

    assert only("deaf", seen).state is State.RED
    assert only("deaf", replace(seen, channels=(replace(slow, paced=True),))).state is State.OK


def test_two_workers_that_one_unit_restarts_together_are_one_rhythm() -> None:
    ages = [age + extra for age in range(10, 2_000, 300) for extra in (0, 1.5)]

    (found,) = rhythms(started_at(*ages), NOW)

    assert (found.restarts, round(found.interval_s)) == (6, 300)


def test_shifts_under_a_q_cluster_are_no_restarts() -> None:
    assert rhythms(started_at(*range(10, 2_000, 60), mode="shift"), NOW) == []


def clustered(next_run: datetime | None, waiting: Some = Some()) -> Figures:  # noqa: B008
    return Figures(NOW, ago(9e5), ago(1), 0, cluster=Cluster(next_run, waiting))


@pytest.mark.parametrize(
    ("late_s", "state"), [(-30, State.OK), (85, State.OK), (95, State.LATE), (301, State.RED)]
)
def test_a_scheduler_that_has_stopped_is_late_and_then_red(late_s: float, state: State) -> None:
    assert only("scheduler", clustered(NOW - timedelta(seconds=late_s))).state is state


def test_a_cluster_that_takes_nothing_and_a_schedule_that_is_gone_are_red() -> None:
    deaf = only("scheduler", clustered(NOW, Some(3, ago(200), ago(70))))

    assert (deaf.state, "3 of its tasks wait" in deaf.sentence) == (State.RED, True)
    assert only("scheduler", clustered(None)).state is State.RED


def test_where_no_cluster_is_used_nothing_is_said_of_one() -> None:
    assert list(BY_NAME["scheduler"].look(figures())) == []


@pytest.mark.parametrize(("recorded_s", "state"), [(30, State.LATE), (90, State.RED)])
def test_an_agent_that_records_where_no_worker_works_is_named_with_both_databases(
    recorded_s: float, state: State
) -> None:
    there = Elsewhere("aaaaaaaaaaaa", (), (("bbbbbbbbbbbb", recorded_s),))

    found = only("elsewhere", replace(figures(), elsewhere=there))

    assert found.state is state
    assert "aaaaaaaaaaaa" in found.sentence
    assert "bbbbbbbbbbbb" in found.sentence


def test_a_worker_elsewhere_is_told_where_none_works_here() -> None:
    there = Elsewhere("aaaaaaaaaaaa", ("bbbbbbbbbbbb",))

    assert only("elsewhere", replace(figures(), elsewhere=there)).state is State.OK
    silent = only("elsewhere", replace(figures(beat_s=200), elsewhere=there))
    assert (silent.state, "bbbbbbbbbbbb" in silent.sentence) == (State.RED, True)
