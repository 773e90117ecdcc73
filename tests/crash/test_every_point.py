"""Each point of each stretch of the path, in each mode, one after the other: nothing breaks.

The stretches: an agent records; a worker claims, submits and settles; a worker searches for what
is unknown and settles it.
"""

import pytest

from delivery.crashlab.laboratory import Laboratory
from tests.crash.conftest import Surveyed
from tests.crash.share import Share, parts
from tests.crash.survey import (
    BARE,
    KEYED,
    LOOKED,
    RECONCILE,
    RECORD,
    RESIDUAL,
    SUBMIT,
    Found,
    Provider,
    Stretch,
    Survey,
)
from tests.crash.track import Mode

# All modes with a provider that can be asked and from whom an absence makes the worker send
# again: whoever is wrong about an absence sends twice. The others where they could differ.
CASES = [
    *((stretch, mode, LOOKED) for stretch in (RECORD, SUBMIT, RECONCILE) for mode in Mode),
    *((SUBMIT, mode, provider) for mode in (Mode.KILL, Mode.STOP) for provider in (BARE, KEYED)),
]


@pytest.mark.laboratory
@pytest.mark.parametrize("share", parts(2), ids=str)
@pytest.mark.parametrize(
    ("stretch", "mode", "provider"),
    CASES,
    ids=[f"{stretch.name}-{mode}-{provider.name}" for stretch, mode, provider in CASES],
)
def test_nothing_breaks_at_any_point(
    stretch: Stretch,
    mode: Mode,
    provider: Provider,
    share: Share,
    laboratory: Laboratory,
    surveyed: Surveyed,
) -> None:
    found = surveyed(Survey(laboratory, stretch, mode, provider).take(share))

    _assert_sound(found)


@pytest.mark.parametrize("mode", [Mode.KILL, Mode.STOP, Mode.RAISE])
def test_nothing_breaks_at_some_points_of_the_submission(
    mode: Mode, laboratory: Laboratory
) -> None:
    found = Survey(laboratory, SUBMIT, mode, KEYED).take(Share(5, 12))

    _assert_sound(found)


def _assert_sound(found: Found) -> None:
    assert not found.broken, "\n".join(found.broken)
    assert found.points > 0
    if found.mode == Mode.STOP and found.provider == LOOKED.name:
        points = {twice.partition(": ")[0] for twice in found.twice}
        assert points <= RESIDUAL, found.twice
    else:
        assert not found.twice
    if found.mode == Mode.KILL and found.provider != BARE.name:
        assert not found.unknown, "what a kill left unknown was found out"
