"""A pool of threads that do nothing but network calls, and tell a selector when one has ended.

Daemon threads: a call that hangs past its deadline (a caller's own sender can) must not keep the
process from ending.
"""

import logging
import os
import queue
import threading
import weakref
from collections import Counter, deque
from contextlib import suppress
from typing import Protocol

logger = logging.getLogger(__name__)


class Job(Protocol):
    """A call that never raises. `overdue`: it runs on past its deadline."""

    @property
    def channel_id(self) -> int: ...

    @property
    def overdue(self) -> bool: ...

    def run(self) -> None: ...


class Pool:
    """Runs jobs, at most `size` at once. `fileno()` becomes readable when one has ended.

    A job that is overdue cannot be stopped, and no longer takes a place: the others go on.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.running: set[Job] = set()
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._done: deque[Job] = deque()
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._threads = 0
        # Not in `close`: a thread that still hangs in a call would write to whatever had got the
        # pipe's number since. Its reference keeps the pool, and so the pipe, until it has ended.
        weakref.finalize(self, _close, self._reader, self._writer)

    @property
    def busy(self) -> int:
        """How many places are taken."""
        return sum(not job.overdue for job in self.running)

    @property
    def busy_by_channel(self) -> Counter[int]:
        """The taken places, by channel id."""
        return Counter(job.channel_id for job in self.running if not job.overdue)

    def fileno(self) -> int:
        return self._reader

    def start(self, job: Job) -> None:
        """Run a job as soon as a thread is free; the caller keeps `busy` at or below `size`.

        Never raises: what is on record must reach the queue, whatever the system refuses.
        """
        self.running.add(job)
        self._jobs.put(job)
        if self._threads < len(self.running):
            self._grow()

    def _grow(self) -> None:
        name = f"call-{self._threads + 1}"
        try:
            threading.Thread(target=self._work, daemon=True, name=name).start()
        except RuntimeError:
            # The threads there are take the job in turn; the next job asks for one more.
            logger.exception("the system gives no thread more than the %d there are", self._threads)
        else:
            self._threads += 1

    def collect(self) -> list[Job]:
        """The jobs that have ended since the last look, in that order."""
        self._drain()
        ended = []
        while self._done:
            ended.append(self._done.popleft())
        self.running.difference_update(ended)
        return ended

    def interrupt(self) -> None:
        """Make `fileno()` readable. Safe in a signal handler."""
        with suppress(BlockingIOError):  # it is full, so it is readable
            os.write(self._writer, b"!")

    def close(self) -> None:
        """End idle threads; one that still hangs in a call ends with the process."""
        for _ in range(self._threads):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job.run()
            except BaseException:  # a stranger's SystemExit, too, must not lose a place
                logger.exception("a call raised instead of keeping its outcome")
            self._done.append(job)
            self.interrupt()

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self._reader, 4096):
                pass


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
