"""What a check finds, and the words that all checks share."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from delivery.silence import COUNTED
from delivery.watch.figures import Figures


class State(StrEnum):
    """How a check stands. Each is worse than the one before."""

    OK = "ok"
    LATE = "late"  # a person should look
    RED = "red"  # a person must look now

    @property
    def badness(self) -> int:
        return list(State).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found.

    `channel`: its slug; "" for the whole installation. `since`: when the trouble began. `newest`:
    when the newest of what it counts began, for checks that count what begins by itself.
    `because`: the check whose trouble explains this one. It is shown, and raises no alarm of its
    own: where no worker is alive, thirty channels that wait are one alarm.
    """

    check: str
    channel: str
    state: State
    sentence: str
    since: datetime | None = None
    because: str = ""
    newest: datetime | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    `headline`: as the subject of a mail has it, before the channel. `view`: the name of the page
    where a person finds it, with its arguments, the anchor on it, and whether it is narrowed to the
    channel.
    """

    name: str
    look: Callable[[Figures], Iterable[Finding]]
    headline: str
    means: str
    to_do: str
    view: str
    view_args: tuple[str, ...] = ()
    anchor: str = ""
    per_channel: bool = True


def counted(number: int) -> str:
    """So many deliveries, in words."""
    if number >= COUNTED:
        return f"{COUNTED:,} deliveries or more"
    return f"{number} {'delivery' if number == 1 else 'deliveries'}"


def age_s(now: datetime, since: datetime | None) -> float:
    """Seconds since then; 0 where it never began."""
    return (now - since).total_seconds() if since else 0.0


def by_age(age: float, late_s: float, red_s: float) -> State:
    """How bad it is after so many seconds."""
    return State.RED if age >= red_s else State.LATE if age >= late_s else State.OK
