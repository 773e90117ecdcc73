"""What gates look at, and what they say: one delivery, the installation's limits, a refusal."""

from dataclasses import dataclass
from datetime import datetime

from delivery.facts import Facts
from ledgers.states import DeliveryStatus


@dataclass(frozen=True, slots=True)
class Conduct:
    """The installation's own limits; times in seconds.

    `asked_at`: the moment that evidence must be fresh at, where it is not now: who approves is
    bound by the end of the request instead.
    """

    approvers: int = 2
    undo_s: float = 30.0
    evidence_s: float = 900.0
    asked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """One delivery as a decision sees it.

    `newest`: its newest generation. `leased_until`: while a worker holds it. `waiting`: the request
    about it that waits for approval, in words.
    """

    id: int
    name: str
    version: int
    status: DeliveryStatus
    destination: str
    facts: Facts
    now: datetime
    newest: int = 1
    erased: bool = False
    leased_until: datetime | None = None
    waiting: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why not, and what would make it allowed."""

    why: str
    right: str

    def __str__(self) -> str:
        return f"{self.why}. Right would be: {self.right}."
