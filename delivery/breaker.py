"""A circuit breaker per route: a destination's host that does not answer is left alone for a while.

One per process, in memory: it saves calls and keeps a dead host from taking every place in the
pool. It decides nothing about a delivery; one that it holds costs no attempt.
"""

import threading
from collections import Counter
from dataclasses import dataclass

from delivery.timing import boottime

OPEN_AFTER = 8  # failures in a row without a single answer between them
FIRST_PAUSE_S = 2.0
LONGEST_PAUSE_S = 60.0
# The words are always the same: each new reason is an event in the trail of every row it holds.
HELD_BY = "held: breaker"
OPEN = "breaker open: the destination does not answer"
RECOVERING = "breaker recovering: the destination has only just answered again"

_FAILURES = frozenset({"not_sent", "ambiguous"})
# Being asked to wait is no failure: somebody is there to ask.
_ANSWERS = frozenset({"accepted", "refused", "unauthorised", "deferred", "in_flight", "mismatch"})
ALL = 1000  # calls that are freed at once when the last step of the ramp is done

Route = tuple[int, str]  # channel id, and the adapter's name for what fails together


@dataclass(slots=True)
class _State:
    failures: int = 0
    pause_s: float = FIRST_PAUSE_S
    probe_at: float = 0.0
    probing: bool = False
    # After recovery: how many calls may be under way; None once all may.
    ramp: int | None = None
    under_way: int = 0

    @property
    def is_open(self) -> bool:
        return self.failures >= OPEN_AFTER

    @property
    def has_no_past(self) -> bool:
        return not self.failures and self.ramp is None and not self.under_way


class Breaker:
    """Closed, open (one probe now and then), and after the first answer a ramp of 1, 2, 4, …"""

    def __init__(self) -> None:
        self._states: dict[Route, _State] = {}
        self._freed: Counter[int] = Counter()
        self._lock = threading.Lock()

    def admit(self, route: Route) -> str:
        """Empty if a call may start on this route now, which then is under way; else why not."""
        with self._lock:
            state = self._states.setdefault(route, _State())
            why = self._against(state)
            if not why:
                state.under_way += 1
            return why

    def _against(self, state: _State) -> str:
        if state.is_open:
            # What is still under way will tell by itself whether somebody is there.
            if state.under_way or boottime() < state.probe_at:
                return OPEN
            state.probing = True
        elif state.ramp is not None and state.under_way >= state.ramp:
            return RECOVERING
        return ""

    def ended(self, route: Route, outcome: str) -> None:
        """Learn what an admitted call came to (`delivery.outcomes`)."""
        with self._lock:
            state = self._states.setdefault(route, _State())
            state.under_way = max(0, state.under_way - 1)
            if outcome in _ANSWERS:
                self._answered(route, state)
            elif outcome in _FAILURES:
                self._failed(state)
            state.probing = False
            if state.has_no_past:
                del self._states[route]

    def _answered(self, route: Route, state: _State) -> None:
        if state.is_open or state.ramp is not None:
            state.ramp = _next_step(state)
            self._freed[route[0]] = state.ramp or ALL
        state.failures, state.pause_s = 0, FIRST_PAUSE_S

    def _failed(self, state: _State) -> None:
        """One more; on the way back a single one is enough."""
        state.failures = max(state.failures + 1, OPEN_AFTER if state.ramp is not None else 0)
        state.ramp = None
        if state.is_open:
            if state.probing:
                state.pause_s = min(state.pause_s * 2, LONGEST_PAUSE_S)
            state.probe_at = boottime() + state.pause_s

    def take_freed(self) -> dict[int, int]:
        """How many more calls may start since it was last asked, by channel id.

        Whoever asks wakes that many of the rows that were held.
        """
        with self._lock:
            freed, self._freed = dict(self._freed), Counter()
            return freed

    def open_routes(self) -> list[Route]:
        """The routes that are left alone at this moment."""
        with self._lock:
            return [route for route, state in self._states.items() if state.is_open]


def _next_step(state: _State) -> int | None:
    if state.ramp is None:
        return 1
    return state.ramp * 2 if state.ramp < 2 * OPEN_AFTER else None


breaker = Breaker()
