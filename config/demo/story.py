"""The acts of the demo, told line by line while they happen."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from subprocess import Popen
from typing import IO

from django.db.models import QuerySet

from config.demo.account import ANSWERED, how_settled
from config.demo.processes import end, first_line, kill, started
from config.demo.scene import (
    DESTINATIONS,
    KEPT_BY_KEY,
    KEPT_BY_SEARCH,
    NEVER_ARRIVED,
    give_script,
)
from delivery.simulator.client import Simulator
from ledgers.models import Delivery, Event, OutboxItem

MANAGE = "manage.py"
LOOK_S = 0.1
PATIENCE_S = 60.0
# Moves worth a line, by kind and the rule that led to them.
TOLD = {
    ("begin", "same-key"): "sent again, with the same key",
    ("ask", "blocked"): "stays unknown: no search can tell; a person is asked",
}


@dataclass
class Story:
    """One telling. `say` prints a line with who acts and what happens."""

    run_id: str
    recipient: Simulator
    say: Callable[[str, str], None]
    log: IO[bytes]
    kills: int = field(default=0, init=False)
    _heard: int = field(default=0, init=False)  # the last event that was told

    def tell(self) -> None:
        """All acts, in order."""
        give_script(self.recipient)
        self._agent_is_killed_after_its_commit()
        self._agent_runs_again()
        self._worker_is_killed_after_acceptance()
        self._worker_is_killed_before_acceptance()
        self._worker_finishes()

    def _agent_is_killed_after_its_commit(self) -> None:
        with started(self.log, "-m", "config.demo.agent", self.run_id, "--linger") as agent:
            first_line(agent)
            self.say("agent", f"recorded its digest for {len(DESTINATIONS)} destinations")
            self._kill(agent, "the agent, right after its commit")

    def _agent_runs_again(self) -> None:
        with started(self.log, "-m", "config.demo.agent", self.run_id) as agent:
            known = first_line(agent) == "known"
            agent.wait()
        said = "its step is done, so nothing is repeated" if known else "it recorded anew"
        self.say("agent", f"started again: {said}")

    def _worker_is_killed_after_acceptance(self) -> None:
        with self._worker() as worker:
            self.recipient.wait_for("held", 2, signal="accepted")
            self._wait_until_settled(but=4)
            self._kill(worker, f"the worker: {KEPT_BY_KEY}, {KEPT_BY_SEARCH} had just accepted")

    def _worker_is_killed_before_acceptance(self) -> None:
        with self._worker() as worker:
            self.recipient.wait_for("held", 1, signal="ignored")
            self._kill(worker, f"the worker: {NEVER_ARRIVED} had its bytes and ignored them")

    def _worker_finishes(self) -> None:
        with self._worker() as worker:
            self._wait(lambda: not self._owed().exists())
            end(worker)

    @contextmanager
    def _worker(self) -> Iterator[Popen[bytes]]:
        with started(self.log, MANAGE, "deliver") as worker:
            first_line(worker)
            self.say("worker", "started")
            yield worker

    def _kill(self, process: Popen[bytes], whom: str) -> None:
        kill(process)
        self.kills += 1
        self.say("KILL -9", f"{whom} (kill {self.kills})")

    def _wait_until_settled(self, but: int) -> None:
        """Until every answer is written down; `but` so many have none, or none that settles."""
        self._wait(lambda: self._owed().count() <= but)

    def _owed(self) -> QuerySet[OutboxItem]:
        return OutboxItem.objects.filter(delivery__message__step__run__run_id=self.run_id)

    def _wait(self, reached: Callable[[], bool]) -> None:
        give_up = time.monotonic() + PATIENCE_S
        over = False
        while not over:
            over = reached()
            self._narrate()
            if time.monotonic() > give_up:
                raise TimeoutError(f"the demo is not where it should be after {PATIENCE_S:.0f} s")
            time.sleep(0 if over else LOOK_S)

    def _narrate(self) -> None:
        """Tell what is new in the trail and worth telling."""
        events = Event.objects.filter(
            pk__gt=self._heard, delivery__message__step__run__run_id=self.run_id
        ).select_related("delivery")
        for event in events.order_by("pk"):
            self._heard = event.pk
            if event.delivery and (line := _line(event, event.delivery)):
                self.say(event.delivery.destination, line)


def _line(event: Event, delivery: Delivery) -> str:
    """What one event means to a spectator; empty for what goes as it should."""
    match event.kind:
        case "accept":
            how = how_settled(delivery)
            return "" if how == ANSWERED else f"delivered: {how}"
        case "suspect":
            last = delivery.attempts.latest("number")
            died = last.closed_at is None
            why = "its worker died with the attempt open" if died else "the answer was lost"
            return f"unknown: {why}"
        case "clear" if delivery.evidence.filter(verdict="absent").exists():
            return "a complete search shows that it did not arrive"
        case _:
            return TOLD.get((event.kind, event.rule), "")
