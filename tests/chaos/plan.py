"""What a seed means: the agents' work, and which faults come when. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

CHANNELS = ("keyed", "blind", "looked-up")
LONGEST_GAP_S = 1.5
FIRST_S = 1.0  # of quiet, so that something is under way
MOST_RUNS = 100_000


@dataclass(frozen=True, slots=True)
class Owed:
    """One message of a planned step."""

    name: str
    channel: str
    to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """One planned step: its messages, and whether it commits its result before it records them."""

    step_id: str
    messages: tuple[Owed, ...]
    announced: bool


@dataclass(frozen=True, slots=True)
class Strike:
    """One fault: from when until when (seconds after the start), and what chooses its victim."""

    at: float
    until: float
    fault: str
    choice: int


def run_id_of(agent: str, number: int) -> str:
    return f"chaos-{agent}-{number}"


def work_of(seed: int, agent: str, number: int) -> tuple[Work, ...]:
    """What run `number` of an agent has to do; the same whenever it is asked."""
    dice = Random(f"{seed} {agent} {number}")
    return tuple(_step(dice, agent, number, step) for step in range(dice.randint(1, 3)))


def _step(dice: Random, agent: str, number: int, step: int) -> Work:
    messages = []
    for index in range(dice.choice((1, 1, 2))):
        place = f"room:{agent}-{number}-{step}-{index}"
        to = tuple(f"{place}-{one}" for one in range(dice.choice((1, 2, 3))))
        messages.append(Owed(f"note-{index}", dice.choice(CHANNELS), to))
    return Work(f"step-{step}", tuple(messages), announced=dice.random() < 0.2)


def schedule(
    seed: int, seconds: float, lanes: Sequence[Sequence[tuple[str, float]]]
) -> list[Strike]:
    """The faults of a run, by the time at which they begin.

    Args:
        seed: what they follow from.
        seconds: how long the run is.
        lanes: each has its faults, with the longest time that each lasts in seconds. Within a lane
            one follows the other, and all come once before one comes again.
    """
    strikes: list[Strike] = []
    for number, lane in enumerate(lanes):
        strikes += _lane(Random(f"{seed} lane {number}"), seconds, lane)
    return sorted(strikes, key=lambda one: (one.at, one.fault))


def _lane(dice: Random, seconds: float, lane: Sequence[tuple[str, float]]) -> Iterator[Strike]:
    at = FIRST_S + dice.uniform(0, LONGEST_GAP_S)
    deck: list[tuple[str, float]] = []
    while at < seconds:
        deck = deck or dice.sample(lane, len(lane))
        fault, longest_s = deck.pop()
        end = at + dice.uniform(0.2, 1.0) * longest_s
        yield Strike(at, end, fault, dice.randrange(2**32))
        at = end + dice.uniform(0.2, LONGEST_GAP_S)
