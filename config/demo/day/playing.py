"""Scenes that take place at the same time, played in the order of their moments."""

import heapq
import math
import random
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import count

from config.demo.past import Past
from delivery import agent
from delivery.agent import Message
from delivery.simulator.client import Simulator
from delivery.worker import Worker
from ledgers.canonical import Json
from ledgers.clock import database_now
from ledgers.models import Delivery
from reviews.people import Person

SEED = 1848
CALLS = 48  # at once: an outage takes a whole street in one wave


class Day:
    """What a scene acts with.

    Attributes:
        now: the present, at which the last scene ends.
        chance: the same one each time, so that every day is like every other.
    """

    def __init__(self, past: Past, recipient: Simulator, people: dict[str, Person]) -> None:
        self.now, self.recipient, self.people = past.now, recipient, people
        self.chance = random.Random(SEED)  # noqa: S311  variety, not secrecy
        self._past = past
        self._worker: Worker | None = None

    def play(self, scenes: Sequence[tuple[float, "Scene"]]) -> None:
        """Play scenes to their ends, each from so many hours before now.

        A scene is a generator that yields the minutes after which it goes on; what would take
        place after the present is left out.
        """
        order = count()
        waiting = [
            (self.now - timedelta(hours=hours), next(order), scene(self)) for hours, scene in scenes
        ]
        heapq.heapify(waiting)
        while waiting:
            moment, _, scene = heapq.heappop(waiting)
            self._past.go_to(max(moment, self._past.reached))
            minutes = next(scene, None)
            self.work()
            goes_on = moment + timedelta(minutes=minutes or 0)
            if minutes is not None and goes_on < self.now:
                heapq.heappush(waiting, (goes_on, next(order), scene))
        self.change_workers()

    # What scenes do

    def record(self, run_id: str, who: str, messages: Sequence[Message], result: Json) -> str:
        """An agent does a piece of work that owes these messages; its run's name."""
        with agent.run(run_id, agent=who) as run:
            step = run.step("write", input={"for": run_id})
            step.complete(result, messages)
        return run_id

    def work(self) -> None:
        """Let the worker do what is due at this moment."""
        if self._worker is None:
            self._worker = Worker(concurrency=CALLS)
        self._worker.work_off(math.inf)

    def change_workers(self) -> None:
        """One ends in good order; the next begins when there is work."""
        if self._worker is not None:
            self._worker.end()
        self._worker = None

    def of(self, run_id: str) -> list[Delivery]:
        """A run's deliveries as they are now."""
        return list(Delivery.objects.filter(message__step__run__run_id=run_id).order_by("pk"))

    def stamp(self) -> str:
        """This moment as it stands in names of runs."""
        return f"{database_now():%Y-%m-%d-%H%M}"

    def until(self, *hours: int) -> float:
        """Minutes until the next of these hours (UTC) strikes."""
        at = database_now()
        passed = at.minute + at.second / 60
        return min(((hour - at.hour - 1) % 24 + 1) * 60 - passed for hour in hours)

    def hence(self, **how_long: float) -> datetime:
        """So long from this moment on."""
        return database_now() + timedelta(**how_long)


Scene = Callable[[Day], Iterator[float]]
