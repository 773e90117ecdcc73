"""A recipient that counts messages by their key and honours keys, on the clock of the test."""

from dataclasses import dataclass, field
from typing import Any

from delivery.errors import NotSentError, RefusedError
from delivery.outcomes import Deferred

ANSWERS = ("accept", "accept, answer lost", "lost", "refuse", "come back later", "not reached")


@dataclass
class Recipient:
    """`now`: seconds that have passed. `received`: when each message was accepted, by key."""

    window_s: float = 0
    now: float = 0
    answer: str = "accept"
    received: dict[str, list[float]] = field(default_factory=dict)

    def send(self, key: str) -> object:
        match self.answer:
            case "lost":
                raise TimeoutError
            case "refuse":
                raise RefusedError("never")
            case "come back later":
                return Deferred("busy", retry_after_s=45)
            case "not reached":
                raise NotSentError("no route")
            case _:
                pass
        times = self.received.setdefault(key, [])
        if not (times and self.now < times[0] + self.window_s):
            times.append(self.now)
        if self.answer == "accept, answer lost":
            raise TimeoutError
        return f"id-{key}"


recipient = Recipient()


def send(*, destination: str, payload: Any, key: str, recognizer: str, deadline: float) -> object:
    return recipient.send(key)


def look_up(*, key: str, **_: Any) -> bool:
    return key in recipient.received
