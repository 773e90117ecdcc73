"""Whether a decision was right, by what the recipient really has. Pure."""

from dataclasses import dataclass
from typing import Literal

from reviews.kinds import NEEDS, Kind, Stage

Word = Literal["right", "safe", "duplicate", "loss", "undecided", "waiting", "under way"]
OVER = frozenset[Word]({"right", "safe", "duplicate", "loss"})
HARM = frozenset[Word]({"duplicate", "loss"})


@dataclass(frozen=True, slots=True)
class Truth:
    """What is known on both sides about one delivery.

    `arrived`: the recipient acted on what it was sent first. `effects`: how often it has acted by
    now. `moving`: something is still to be sent by a decision.
    """

    arrived: bool
    effects: int
    moving: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """One word, and why."""

    word: Word
    why: str


def judge(kind: str, stage: str, truth: Truth) -> Judgement:
    """What the latest decision about a delivery came to.

    Args:
        kind: of the decision (`reviews.kinds.Kind`); empty for none.
        stage: how far that one has come.
        truth: what the recipient has.
    """
    if truth.effects > 1:
        return Judgement("duplicate", f"the recipient acted on it {truth.effects} times")
    if stage == Stage.REQUESTED:
        return Judgement("waiting", "a second person has not answered yet")
    if not kind or stage != Stage.EXECUTED:
        return Judgement("undecided", "nobody has decided")
    if kind == Kind.ARRIVED:
        return _called_arrived(truth)
    if NEEDS[Kind(kind)].sends:
        return _sent(truth)
    return _left(truth)


def _called_arrived(truth: Truth) -> Judgement:
    if truth.arrived:
        return Judgement("right", "it had arrived")
    return Judgement("loss", "it had not arrived, and now nobody sends it")


def _sent(truth: Truth) -> Judgement:
    if truth.moving:
        return Judgement("under way", "it is being sent; look again in a minute")
    if not truth.effects:
        return Judgement("loss", "it was sent again, and has not arrived")
    if truth.arrived:
        return Judgement("safe", "it had arrived; its key kept it from counting twice")
    return Judgement("right", "it had not arrived, and now it has")


def _left(truth: Truth) -> Judgement:
    if truth.arrived:
        return Judgement("safe", "it had arrived: `it arrived` would have closed it")
    return Judgement("loss", "it had not arrived, and nobody sends it any more")
