"""Each point of a decision, in each mode, one after the other: nothing is half decided.

It arrived; leave undelivered; send again although it may have arrived, which takes two people.
"""

import pytest

from delivery.crashlab.laboratory import Laboratory
from tests.crash.deciding import OTHERWISE, Deciding
from tests.crash.survey import BARE, Found
from tests.crash.track import Mode


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
