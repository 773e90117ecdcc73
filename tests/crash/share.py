"""Which points of a stretch a test acts at."""

import os
from dataclasses import dataclass

# `make crash EVERY=1` acts at every point of a decision, too, and not at a sample of them.
EVERY = os.environ.get("CRASH_EVERY_POINT", "") not in {"", "0"}


@dataclass(frozen=True, slots=True)
class Share:
    """Every `step`-th point from the `first` on, counted from 0.

    `sample`: no other test takes the rest, so every commit is among them wherever it stands.
    """

    first: int = 0
    step: int = 1
    sample: bool = False

    def has(self, place: int, name: str) -> bool:
        """Whether the point at this place, of this name, is one of them."""
        return place % self.step == self.first or (self.sample and name.startswith("commit"))

    def __str__(self) -> str:
        return f"sample-{self.step}" if self.sample else f"{self.first + 1}-of-{self.step}"


def parts(count: int) -> list[Share]:
    """All points, in so many tests."""
    return [Share(number, count) for number in range(count)]


def sample(step: int, number: int) -> Share:
    """One in so many. `number`: of the case, so that not all begin at the same point."""
    return Share(number % step, step, sample=True)
