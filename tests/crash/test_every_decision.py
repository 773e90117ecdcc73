"""Each point of a decision, in each mode, one after the other: nothing is half decided.

It arrived; leave undelivered; send again although it may have arrived, which takes two people.
"""

import pytest

from delivery.crashlab.laboratory import Laboratory
from tests.crash.conftest import Surveyed
from tests.crash.deciding import ARRIVED, LEAVE, OTHERWISE, Deciding
from tests.crash.survey import BARE, Found, Stretch
from tests.crash.track import Mode

# Frozen, sending again is overtaken by another person and a worker, or by the worker alone.
CASES = [
    *((one, mode, True) for one in (ARRIVED, LEAVE) for mode in Mode if mode != Mode.STOP),
    *((OTHERWISE, mode, True) for mode in Mode),
    (OTHERWISE, Mode.STOP, False),
]
HALVES = [slice(0, None, 2), slice(1, None, 2)]


@pytest.mark.laboratory
@pytest.mark.parametrize("half", HALVES, ids=["odd", "even"])
@pytest.mark.parametrize(
    ("stretch", "mode", "quicker"),
    CASES,
    ids=[
        f"{stretch.name}-{mode}{'' if quicker else '-worker'}" for stretch, mode, quicker in CASES
    ],
)
def test_nothing_is_half_decided_at_any_point(
    stretch: Stretch,
    mode: Mode,
    quicker: bool,
    half: slice,
    laboratory: Laboratory,
    surveyed: Surveyed,
) -> None:
    found = Deciding(laboratory, stretch, mode, BARE, quicker).take(half)

    _assert_sound(surveyed(found))


@pytest.mark.parametrize("mode", [Mode.KILL, Mode.STOP, Mode.LOST])
def test_nothing_is_half_decided_at_some_points_of_sending_again(
    mode: Mode, laboratory: Laboratory
) -> None:
    found = Deciding(laboratory, OTHERWISE, mode, BARE).take(slice(3, None, 16))

    _assert_sound(found)


def _assert_sound(found: Found) -> None:
    assert not found.broken, "\n".join(found.broken)
    assert found.points > 0
    assert not found.twice, found.twice
