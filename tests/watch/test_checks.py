"""What each check makes of the figures: pure, so that every edge is at hand."""

from datetime import UTC, datetime, timedelta

import pytest

from delivery.watch.checks import BY_NAME, CHECKS, Finding, State, findings, worst
from delivery.watch.figures import ChannelFigures, Figures

NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def figures(
    *channels: ChannelFigures, beat_s: float | None = 1, installed_s: float = 9e5, owed: int = 0
) -> Figures:
    beat_at = None if beat_s is None else ago(beat_s)
    return Figures(NOW, ago(installed_s), beat_at, owed, channels)


def only(name: str, seen: Figures) -> Finding:
    (finding,) = BY_NAME[name].look(seen)
    return finding


@pytest.mark.parametrize(
    ("beat_s", "state"), [(0, State.OK), (90, State.OK), (90.1, State.RED), (9e6, State.RED)]
)
def test_a_worker_is_dead_after_ninety_seconds_without_a_beat(beat_s: float, state: State) -> None:
    assert only("worker", figures(beat_s=beat_s)).state is state


@pytest.mark.parametrize(("installed_s", "state"), [(80, State.OK), (91, State.RED)])
def test_that_no_worker_ever_ran_counts_from_the_installation(
    installed_s: float, state: State
) -> None:
    found = only("worker", figures(beat_s=None, installed_s=installed_s, owed=3))

    assert found.state is state
    assert state is State.OK or found.sentence == (
        "No worker has ever run here, 1 min 31 s after the installation; 3 deliveries wait."
    )


@pytest.mark.parametrize(
    ("age_s", "state"),
    [(0, State.OK), (299, State.OK), (300, State.LATE), (3599, State.LATE), (3600, State.RED)],
)
def test_unknown_is_late_after_five_minutes_and_red_after_an_hour(
    age_s: float, state: State
) -> None:
    seen = figures(ChannelFigures("alerts", unknown=2, unknown_since=ago(age_s)))

    found = only("unknown", seen)

    assert (found.state, found.channel) == (state, "alerts")
    assert state is State.OK or found.since == ago(age_s)


@pytest.mark.parametrize(
    ("age_s", "state"), [(59, State.OK), (60, State.LATE), (299, State.LATE), (300, State.RED)]
)
def test_overdue_is_late_after_the_grace_and_red_after_five_minutes(
    age_s: float, state: State
) -> None:
    one = ChannelFigures("alerts", overdue=1, due_at=ago(age_s), owed_since=ago(9_000))

    found = only("overdue", figures(one))

    assert (found.state, found.because) == (state, "")
    if state is not State.OK:
        assert found.sentence == (
            "1 delivery on channel alerts is due and no worker takes it; owed for 2 h 30 min."
        )


@pytest.mark.parametrize(("beat_s", "because"), [(59, ""), (61, "worker"), (200, "worker")])
def test_what_waits_without_a_worker_is_explained_by_it(beat_s: float, because: str) -> None:
    one = ChannelFigures("alerts", overdue=1, due_at=ago(70), owed_since=ago(70))

    assert only("overdue", figures(one, beat_s=beat_s)).because == because


def test_each_channel_has_a_finding_of_its_own() -> None:
    seen = figures(
        ChannelFigures("a", unknown=1, unknown_since=ago(400)),
        ChannelFigures("b", overdue=1, due_at=ago(400), owed_since=ago(400)),
        ChannelFigures("c"),
    )

    found = {(one.check, one.channel): one.state for one in findings(seen)}

    per_channel = [c for c in CHECKS if c.per_channel and c.name != "probe"]  # nobody asked for one
    whole = [c for c in CHECKS if not c.per_channel and c.name != "scheduler"]  # no q cluster
    assert len(found) == len(whole) + 3 * len(per_channel)
    assert [place for place, state in found.items() if state is not State.OK] == [
        ("unknown", "a"), ("overdue", "b"),
    ]  # fmt: skip
    assert worst(findings(seen)) is State.RED
