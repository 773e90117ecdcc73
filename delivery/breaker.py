"""A circuit breaker per route: a destination's host that does not answer is left alone for a while.

One per process, in memory: it saves calls and keeps a dead host from taking every place in the
pool. It decides nothing about a delivery; one that it holds costs no attempt.
"""

import threading
from dataclasses import dataclass

from delivery.timing import boottime

OPEN_AFTER = 8  # failures in a row without a single answer between them
FIRST_PAUSE_S = 2.0
LONGEST_PAUSE_S = 60.0

Route = tuple[int, str]  # channel id, and the adapter's name for what fails together


@dataclass(slots=True)
class _State:
    failures: int = 0
    pause_s: float = FIRST_PAUSE_S
    probe_at: float = 0.0
    # After recovery: how many calls may be under way; None once all may.
    ramp: int | None = None
    under_way: int = 0

    @property
    def is_open(self) -> bool:
        return self.failures >= OPEN_AFTER


class Breaker:
    """Closed, open (a probe now and then), and after the first success a ramp of 1, 2, 4, …"""

    def __init__(self) -> None:
        self._states: dict[Route, _State] = {}
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
            left = state.probe_at - boottime()
            if left > 0:
                return f"breaker open: {state.failures} failures in a row"
            # This call is the probe; the next one is due only after a longer pause.
            state.pause_s = min(state.pause_s * 2, LONGEST_PAUSE_S)
            state.probe_at = boottime() + state.pause_s
            return ""
        if state.ramp is not None and state.under_way >= state.ramp:
            return f"recovering: {state.ramp} calls at a time"
        return ""

    def ended(self, route: Route, outcome: str) -> None:
        """Learn what a call came to (`delivery.outcomes`). Being asked to wait is no failure."""
        with self._lock:
            state = self._states.setdefault(route, _State())
            state.under_way = max(0, state.under_way - 1)
            if outcome in {"accepted", "refused"}:
                self._succeeded(state)
            elif outcome in {"not_sent", "ambiguous"}:
                self._failed(state)

    def _succeeded(self, state: _State) -> None:
        if state.is_open:
            state.ramp = 1
        elif state.ramp is not None:
            state.ramp = state.ramp * 2 if state.ramp < 2 * OPEN_AFTER else None
        state.failures = 0
        state.pause_s = FIRST_PAUSE_S

    def _failed(self, state: _State) -> None:
        state.failures += 1
        if state.failures == OPEN_AFTER:
            state.probe_at = boottime() + state.pause_s

    def open_routes(self) -> list[Route]:
        """The routes that are left alone at this moment."""
        with self._lock:
            return [route for route, state in self._states.items() if state.is_open]


breaker = Breaker()
