"""A decision is judged by what the recipient really has."""

import pytest

from config.drill.judging import Truth, judge
from config.drill.kinds import KINDS, Kind, fates
from reviews.kinds import Kind as Decided
from reviews.kinds import Stage

ARRIVED, LOST = Truth(arrived=True, effects=1), Truth(arrived=False, effects=0)
SENT_AND_CAME = Truth(arrived=False, effects=1)


@pytest.mark.parametrize(
    ("kind", "truth", "word"),
    [
        (Decided.ARRIVED, ARRIVED, "right"),
        (Decided.ARRIVED, LOST, "loss"),
        (Decided.SEND_OTHERWISE, SENT_AND_CAME, "right"),
        (Decided.SEND_OTHERWISE, Truth(arrived=True, effects=2), "duplicate"),
        (Decided.SEND_OTHERWISE, LOST, "loss"),
        (Decided.SEND_AFTER_ABSENT, SENT_AND_CAME, "right"),
        (Decided.SEND_SAME_KEY, ARRIVED, "safe"),
        (Decided.SEND_OTHERWISE, Truth(arrived=True, effects=1, moving=True), "under way"),
        (Decided.LEAVE, ARRIVED, "safe"),
        (Decided.LEAVE, LOST, "loss"),
        (Decided.CANCEL, LOST, "loss"),
    ],
)
def test_what_was_decided_is_right_safe_or_harm_by_what_really_arrived(
    kind: Decided, truth: Truth, word: str
) -> None:
    assert judge(kind, Stage.EXECUTED, truth).word == word


def test_two_effects_are_a_duplicate_whoever_decided_what() -> None:
    assert judge("", "", Truth(arrived=True, effects=2)).word == "duplicate"


def test_what_waits_for_a_second_person_is_not_judged_yet() -> None:
    assert judge(Decided.SEND_OTHERWISE, Stage.REQUESTED, ARRIVED).word == "waiting"


@pytest.mark.parametrize("stage", [Stage.REFUSED, Stage.UNDONE, Stage.EXPIRED, Stage.VOID])
def test_what_was_refused_or_taken_back_is_undecided(stage: Stage) -> None:
    assert judge(Decided.LEAVE, stage, LOST).word == "undecided"


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_the_same_seed_plays_the_same_incident(kind: Kind) -> None:
    once, again = fates(kind, 41, "0a1b"), fates(kind, 41, "0a1b")

    assert once == again
    assert len({fate.to for fate in once}) == kind.count
    assert sum(fate.arrives for fate in once) == round(kind.count * kind.arrive)


def test_another_seed_deals_otherwise() -> None:
    dealt = {tuple(f.arrives for f in fates(KINDS["mixed"], seed, "")) for seed in range(20)}

    assert len(dealt) > 5
