"""What can have happened. Who practises is not told which it was."""

import random
from dataclasses import dataclass

NAMES = ("aster", "birch", "clover", "daisy", "elder", "fern", "gorse", "hazel", "iris", "juniper")
SEEDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of incident.

    `arrive`: the share of messages that the recipient acts on before it hangs up; the others it
    drops. `search`: whether the destination can be searched, so that a machine finds out as far
    as it can and a person decides about the rest. `kill`: a worker is killed while it waits for
    the answers.
    """

    name: str
    means: str
    count: int
    arrive: float
    search: bool = False
    kill: bool = False


KINDS = {
    kind.name: kind
    for kind in (
        Kind("arrived", "the recipient takes all of them and hangs up before it answers", 3, 1.0),
        Kind("lost", "the recipient hangs up on all of them and has none", 3, 0.0),
        Kind("mixed", "some arrive and some do not, and all look alike", 6, 0.5),
        Kind(
            "killed",
            "a worker is killed before the answers come",
            4,
            0.5,
            kill=True,
        ),
        Kind("absent", "none arrive, and a complete search proves it", 3, 0.0, search=True),
        Kind("flood", "an outage: 30 at once, of which nearly all arrive", 30, 0.9),
    )
}


@dataclass(frozen=True, slots=True)
class Fate:
    """One destination, and whether the recipient acts on what it is sent first."""

    to: str
    arrives: bool


def fates(kind: Kind, seed: int, tag: str) -> tuple[Fate, ...]:
    """What happens to whom; the same for the same seed but for the names' `tag`.

    Of a kind in which some arrive, one at least does, and one at least does not.
    """
    chance = random.Random(seed)  # noqa: S311  a plot, not a secret
    arriving = round(kind.count * kind.arrive)
    arrives = [n < arriving for n in range(kind.count)]
    chance.shuffle(arrives)
    return tuple(
        Fate(f"practice:{NAMES[n % len(NAMES)]}-{n + 1}-{tag}", comes)
        for n, comes in enumerate(arrives)
    )
