"""Each point of a decision, in each mode, one after the other: nothing is half decided.

It arrived; leave undelivered; send again although it may have arrived, which takes two people; and
the undo of that. Every point is found by itself. `make crash` acts at every commit and at a sample
of the others that is spread over each kind and mode, `make crash EVERY=1` at all of them.
"""

from collections.abc import Iterator

import pytest

from delivery.crashlab.laboratory import Laboratory
from tests.crash.conftest import Surveyed
from tests.crash.deciding import ARRIVED, LEAVE, OTHERWISE, Deciding
from tests.crash.share import EVERY, Share, parts, sample
from tests.crash.survey import BARE, Found, Stretch
from tests.crash.track import Mode
from tests.crash.undoing import UNDO, Undoing

STEP = 10
PARTS = dict.fromkeys(Mode, 4) | {Mode.LOST: 1}  # only a commit can be lost like this
Case = tuple[Stretch, Mode, bool]

# Frozen, it is overtaken by another person and a worker, or by the worker alone.
CASES: list[Case] = [
    *((stretch, mode, True) for stretch in (ARRIVED, LEAVE, OTHERWISE, UNDO) for mode in Mode),
    *((stretch, Mode.STOP, False) for stretch in (OTHERWISE, UNDO)),
]


def _named(case: Case) -> str:
    stretch, mode, quicker = case
    return f"{stretch.name}-{mode}{'' if quicker else '-worker'}"


def _taken() -> Iterator[tuple[Case, Share]]:
    for number, case in enumerate(CASES):
        shares = parts(PARTS[case[1]]) if EVERY else [sample(STEP, number * 3)]
        yield from ((case, share) for share in shares)


TAKEN = [pytest.param(*one, id=f"{_named(one[0])}-{one[1]}") for one in _taken()]


# What hangs is noticed by the laboratory itself; a loaded machine is slow.
@pytest.mark.timeout(900)
@pytest.mark.laboratory
@pytest.mark.parametrize(("case", "share"), TAKEN)
def test_nothing_is_half_decided_at_any_point(
    case: Case, share: Share, laboratory: Laboratory, surveyed: Surveyed
) -> None:
    found = surveyed(_survey(laboratory, case).take(share))

    _assert_sound(found)


@pytest.mark.parametrize(
    "case",
    [(OTHERWISE, mode, True) for mode in (Mode.KILL, Mode.STOP, Mode.LOST)]
    + [(UNDO, Mode.KILL, True)],
    ids=_named,
)
def test_nothing_is_half_decided_at_some_points_of_sending_again(
    case: Case, laboratory: Laboratory
) -> None:
    found = _survey(laboratory, case).take(Share(3, 16))

    _assert_sound(found)


def _survey(laboratory: Laboratory, case: Case) -> Deciding | Undoing:
    stretch, mode, quicker = case
    survey = Undoing if stretch == UNDO else Deciding
    return survey(laboratory, stretch, mode, BARE, quicker)


def _assert_sound(found: Found) -> None:
    assert not found.broken, "\n".join(found.broken)
    assert found.points > 0
    assert not found.twice, found.twice
