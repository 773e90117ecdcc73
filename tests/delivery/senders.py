"""Somebody's own sender, as tests see it: what it was called with, and what it does about it.

Worker threads of this very process call `send`. It does what the script of the destination says,
one entry per call, and accepts where there is none.
"""

import threading
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from delivery.errors import NotSentError, RefusedError


@dataclass(frozen=True, slots=True)
class Received:
    """One call."""

    destination: str
    payload: Any
    key: str
    recognizer: str


@dataclass(slots=True)
class Desk:
    """The recipient behind the sender. An entry of a script is an exception to raise, a function
    of the call, or what to return; a call has an effect unless it is refused before it acts."""

    received: list[Received] = field(default_factory=list)
    acted_on: list[Received] = field(default_factory=list)
    scripts: defaultdict[str, deque[Any]] = field(default_factory=lambda: defaultdict(deque))
    found: object = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def script(self, destination: str, *entries: Any) -> None:
        self.scripts[destination].extend(entries)

    def effects(self, destination: str) -> int:
        return sum(one.destination == destination for one in self.acted_on)

    def take(self, call: Received) -> object:
        with self._lock:
            self.received.append(call)
            script = self.scripts[call.destination]
            entry = script.popleft() if script else f"id-{len(self.received)}"
            if not isinstance(entry, NotSentError | RefusedError):
                self.acted_on.append(call)
        if isinstance(entry, BaseException):
            raise entry
        return entry(call) if callable(entry) else entry


@dataclass(slots=True)
class Pause:
    """A script's entry: says that it was reached, and waits to be let go."""

    answer: Any = "id-late"
    reached: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)

    def __call__(self, call: Received) -> object:
        self.reached.set()
        assert self.go.wait(20), f"nobody let the call to {call.destination} go"
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


desk = Desk()


def send(*, destination: str, payload: Any, key: str, recognizer: str, deadline: float) -> object:
    assert deadline > 0
    return desk.take(Received(destination, payload, key, recognizer))


def look_up(**asked: Any) -> object:
    """What the desk was told to have found."""
    found: Callable[..., object] | object = desk.found
    return found(asked) if callable(found) else found
