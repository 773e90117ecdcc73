"""How far one call got, and the last check before its first byte."""

import threading
from dataclasses import dataclass

from delivery.errors import HeldBackError
from delivery.timing import boottime
from ledgers.boundaries import boundary

PHASES = ("", "connecting", "connected", "writing", "written", "status")


class StopSign:
    """A hold that the process knows of: once set, nothing new leaves it."""

    def __init__(self) -> None:
        self._reason = ""
        self._hold = ""
        self._doubt = ""
        self._lock = threading.Lock()

    def set(self, reason: str) -> None:
        with self._lock:
            self._reason = reason

    def hold(self, reason: str) -> None:
        """The global hold, which comes and goes; an ending worker's own sign stays."""
        with self._lock:
            self._hold = reason

    def doubt(self, reason: str) -> None:
        """Why the database may not be the one that was written ahead to; "" once it is known."""
        with self._lock:
            self._doubt = reason

    @property
    def reason(self) -> str:
        return self._reason or self._doubt or self._hold


# Raised by the worker when it drains, learns of a global hold, or does not know its database.
stop_sign = StopSign()


@dataclass(frozen=True, slots=True)
class LastCheck:
    """Until when a first byte may leave, on `boottime()`. None: the decision sets no limit."""

    lease_limit: float
    decision_limit: float | None = None

    def refuse(self) -> str:
        """Why nothing may leave now, or an empty string."""
        now = boottime()
        if stop_sign.reason:
            return f"held: {stop_sign.reason}"
        if now >= self.lease_limit:
            return "the lease would not outlive the call"
        if self.decision_limit is not None and now >= self.decision_limit:
            return "the moment until which it could be sent has passed"
        return ""


class CallJournal:
    """The journal of one call; see `delivery.channels.contract.Journal`."""

    def __init__(self, deadline_s: float, check: LastCheck) -> None:
        self.deadline = boottime() + deadline_s
        self.phase = ""
        self.bytes_written = 0
        self._check = check

    def look(self) -> None:
        """The last check, without letting a first byte go.

        Raises:
            HeldBackError: nothing may leave any more.
        """
        if why := self._check.refuse():
            raise HeldBackError(why)

    def reached(self, phase: str) -> None:
        if PHASES.index(phase) > PHASES.index(self.phase):
            self.phase = phase
            boundary(f"phase-{phase}")

    def before_first_byte(self) -> None:
        boundary("before-last-check")
        self.look()
        boundary("after-last-check")

    def wrote(self, count: int) -> None:
        self.bytes_written += count
