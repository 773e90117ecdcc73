"""Telling others that something was delivered. What they do with it cannot undo it.

Receivers of `delivered` run after the commit, each on its own, in a thread of their own with a
database connection of its own. A receiver that raises is an event in the trail and nothing more:
the delivery stays delivered. One that hangs holds up those who are to be told after it; deliveries
go on.
"""

import logging
import os
import queue
import sys
import threading
import traceback
from collections.abc import Sequence

from django.db import connections
from django.dispatch import Signal

from delivery.history import Case
from ledgers.trail import log

logger = logging.getLogger(__name__)

# Sent with `delivery_id` (UUID), `destination` and `pk` (of `ledgers.models.Delivery`).
delivered = Signal()

# Seconds that a worker waits for its receivers, once: after that it goes on without a wait until
# they have caught up.
PATIENCE_S = 2.0
MOST_WAITING = 10_000  # deliveries that are remembered for them meanwhile


def tell(cases: Sequence[Case]) -> None:
    """Have the receivers called for each delivery that was found delivered. Never raises."""
    if cases and delivered.receivers:
        _teller.hand_over(cases)


class _Teller:
    """One thread that calls the receivers, and somebody who waits for it for a bounded time."""

    def __init__(self) -> None:
        self._cases: queue.SimpleQueue[Case] = queue.SimpleQueue()
        self._idle = threading.Event()
        self._patient = True
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def hand_over(self, cases: Sequence[Case]) -> None:
        if self._cases.qsize() > MOST_WAITING:
            logger.error("receivers are too slow: %d deliveries are not told to them", len(cases))
            return
        with self._lock:
            self._idle.clear()
            for case in cases:
                self._cases.put(case)
            thread = self._thread or self._start()
        if self._patient and not self._idle.wait(PATIENCE_S):
            self._patient = False
            logger.error(
                "a receiver of `delivered` has not returned for %g s; the worker goes on without"
                " it. It is at:\n%s",
                PATIENCE_S,
                _place_of(thread),
            )

    def _start(self) -> threading.Thread:
        self._thread = threading.Thread(target=self._work, daemon=True, name="receivers")
        self._thread.start()
        return self._thread

    def _work(self) -> None:
        while True:
            _tell(self._cases.get())
            with self._lock:
                if not self._cases.empty():
                    continue
                connections.close_all()
                self._patient = True
                self._idle.set()


_teller = _Teller()


def _renew() -> None:
    """The thread is the parent's."""
    global _teller  # noqa: PLW0603  one process, one teller
    _teller = _Teller()


os.register_at_fork(after_in_child=_renew)


def _place_of(thread: threading.Thread) -> str:
    """Where it is at this moment: the only name that a hanging receiver has."""
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001  there is no other way
    return "".join(traceback.format_stack(frame)[-6:]) if frame else "its end"


def _tell(case: Case) -> None:
    try:
        answers = delivered.send_robust(
            sender=None, delivery_id=case.delivery_id, destination=case.destination, pk=case.id
        )
    except BaseException as error:  # noqa: BLE001  it lets a receiver's sys.exit() through
        _note_failure(case, "a receiver", error)
        return
    for receiver, answer in answers:
        if isinstance(answer, Exception):
            _note_failure(case, getattr(receiver, "__qualname__", repr(receiver)), answer)


def _note_failure(case: Case, name: str, error: BaseException) -> None:
    try:
        log(
            "hook_failed",
            "worker",
            delivery_pk=case.id,
            detail={"receiver": name, "error": type(error).__name__},
        )
    except Exception:
        logger.exception("hook %s failed for delivery %s", name, case.delivery_id)
