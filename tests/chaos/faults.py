"""The faults, each begun and ended. Which victim it takes follows from the schedule's choice."""

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from random import Random

import psycopg

from tests.ground import clocked
from tests.ground.crew import Crew, Member
from tests.ground.scene import LEASE_S, Scene

HOSTILE = (
    "accept_and_close", "accept_and_reset", "accept_and_hang", "accept_and_drip",
    "accept_and_garbage", "accept_and_cut", "502+effect", "503", "close", "reset", "hang",
    {"do": "rate_limit", "retry_after": "1"}, {"do": "accept", "after_s": 0.8}, "accept", "accept",
)  # fmt: skip
FOUL = 12  # submissions that one spell of weather spoils


@dataclass(slots=True)
class Stage:
    """What faults work on."""

    scene: Scene
    crew: Crew


Doing = Iterator[None]
Fault = Callable[[Stage, Random], Doing]


def kill_server(stage: Stage, dice: Random) -> Doing:
    stage.scene.server.kill()
    yield
    stage.scene.server.start()


def kill_backend(stage: Stage, dice: Random) -> Doing:
    """The server ends every other one and recovers by itself."""
    server = stage.scene.server
    server.tell(signal.SIGKILL, *_some(dice, server.backends()))
    yield
    server.start()


def freeze_backend(stage: Stage, dice: Random) -> Doing:
    server = stage.scene.server
    frozen = _some(dice, server.backends())
    server.tell(signal.SIGSTOP, *frozen)
    yield
    server.tell(signal.SIGCONT, *frozen)


def terminate(stage: Stage, dice: Random) -> Doing:
    stage.scene.server.terminate()
    yield


def read_only(stage: Stage, dice: Random) -> Doing:
    stage.scene.server.read_only(on=True)
    yield
    stage.scene.server.read_only(on=False)


def connection_limit(stage: Stage, dice: Random) -> Doing:
    stage.scene.server.limit_connections(dice.randint(0, 2))
    yield
    stage.scene.server.limit_connections(-1)


def locked_table(stage: Stage, dice: Random) -> Doing:
    table = dice.choice(("ledgers_outboxitem", "ledgers_delivery", "ledgers_attempt"))
    with suppress(psycopg.errors.LockNotAvailable), stage.scene.server.locked(table):
        yield
        return
    yield


def cut(stage: Stage, dice: Random) -> Doing:
    stage.scene.proxy.cut()
    yield
    stage.scene.proxy.heal()


def stall(stage: Stage, dice: Random) -> Doing:
    """Then the connections are reset: a network that was silent seldom remembers them."""
    stage.scene.proxy.stall()
    yield
    stage.scene.proxy.cut()
    stage.scene.proxy.heal()


def lost_answer(stage: Stage, dice: Random) -> Doing:
    """A commit that nobody hears of."""
    about = dice.choice((b"ledgers_attempt", b"ledgers_outboxitem", b"ledgers_step"))
    stage.scene.proxy.lose_answer_after(about, b"COMMIT")
    yield
    stage.scene.proxy.heal()


def slow(stage: Stage, dice: Random) -> Doing:
    stage.scene.proxy.slow(dice.uniform(0.01, 0.1))
    yield
    stage.scene.proxy.heal()


def kill_worker(stage: Stage, dice: Random) -> Doing:
    dice.choice(stage.crew.workers).tell(signal.SIGKILL)
    yield


def end_worker(stage: Stage, dice: Random) -> Doing:
    dice.choice(stage.crew.workers).tell(signal.SIGTERM)
    yield


def kill_agent(stage: Stage, dice: Random) -> Doing:
    dice.choice(stage.crew.agents).tell(signal.SIGKILL)
    yield


def freeze_worker(stage: Stage, dice: Random) -> Doing:
    with _frozen(dice.choice(stage.crew.workers)):
        yield


def freeze_agent(stage: Stage, dice: Random) -> Doing:
    with _frozen(dice.choice(stage.crew.agents)):
        yield


def freeze_recipient(stage: Stage, dice: Random) -> Doing:
    stage.scene.freeze_recipient()
    yield
    stage.scene.thaw_recipient()


def clock_forward(stage: Stage, dice: Random) -> Doing:
    return _stepped(stage, dice, clocked.FORWARD, clocked.BACK)


def clock_back(stage: Stage, dice: Random) -> Doing:
    return _stepped(stage, dice, clocked.BACK, clocked.FORWARD)


def foul_weather(stage: Stage, dice: Random) -> Doing:
    stage.scene.recipient.behave("*", *dice.choices(HOSTILE, k=FOUL))
    yield


def dead_recipient(stage: Stage, dice: Random) -> Doing:
    """Nobody gets an answer, whatever they send."""
    stage.scene.recipient.behave("*", always=dice.choice(("reset", "503", "accept_and_reset")))
    yield
    stage.scene.recipient.behave("*", always="accept")


# By lane; the number is the longest time that it lasts, in seconds.
GROUND: Sequence[tuple[Fault, float]] = (
    (kill_server, 2), (kill_backend, 0.5), (freeze_backend, 4), (terminate, 0.2), (read_only, 3),
    (connection_limit, 3), (locked_table, 7), (cut, 3), (stall, 6), (lost_answer, 2), (slow, 3),
)  # fmt: skip
PROCESSES: Sequence[tuple[Fault, float]] = (
    (kill_worker, 0.2), (kill_worker, 0.2), (end_worker, 0.2), (kill_agent, 0.2),
    (freeze_worker, 2 * LEASE_S), (freeze_worker, LEASE_S), (freeze_agent, 8),
    (clock_forward, 5), (clock_back, 5),
)  # fmt: skip
# What is frozen cannot be told how to behave: one lane.
WEATHER: Sequence[tuple[Fault, float]] = (
    (foul_weather, 2), (foul_weather, 2), (dead_recipient, 2), (freeze_recipient, 2),
)  # fmt: skip
LANES = (GROUND, PROCESSES, WEATHER)
BY_NAME = {fault.__name__: fault for lane in LANES for fault, _ in lane}


def _some(dice: Random, pids: Sequence[int]) -> Sequence[int]:
    return dice.sample(pids, min(len(pids), 1))


@contextmanager
def _frozen(member: Member) -> Iterator[None]:
    member.tell(signal.SIGSTOP)
    yield
    member.tell(signal.SIGCONT)


def _stepped(stage: Stage, dice: Random, there: signal.Signals, back: signal.Signals) -> Doing:
    """One that is started meanwhile has the true clock, and is not told to go back."""
    worker = dice.choice(stage.crew.workers)
    stepped = worker.process if worker.catches(there) and worker.tell(there) else None
    yield
    if stepped is not None and stepped is worker.process and worker.catches(back):
        worker.tell(back)
