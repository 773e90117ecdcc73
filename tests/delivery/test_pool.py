"""The pool: threads that only make calls, and a pipe that tells when one has ended."""

import gc
import os
import selectors
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from delivery.pool import Pool


@dataclass(slots=True, eq=False)
class Job:
    """A call that waits to be let go."""

    error: BaseException | None = None
    started: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)
    channel_id: int = 1
    overdue: bool = False

    def run(self) -> None:
        self.started.set()
        assert self.go.wait(10)
        if self.error is not None:
            raise self.error


def ended(pool: Pool, seconds: float = 10) -> list[object]:
    with selectors.DefaultSelector() as selector:
        selector.register(pool, selectors.EVENT_READ)
        assert selector.select(seconds), "no call has ended"
    return list(pool.collect())


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_calls_run_at_the_same_time_and_are_collected_as_they_end() -> None:
    pool, first, second = Pool(2), Job(), Job()
    pool.start(first)
    pool.start(second)
    assert first.started.wait(10)
    assert second.started.wait(10)

    second.go.set()
    one = ended(pool)
    first.go.set()
    other = ended(pool)

    assert (one, other, pool.busy) == ([second], [first], 0)
    pool.close()


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(1)], ids=repr)
def test_a_call_that_raises_after_all_costs_no_place(error: BaseException) -> None:
    pool, broken, good = Pool(1), Job(error), Job()
    broken.go.set()
    good.go.set()

    pool.start(broken)
    first = ended(pool)
    pool.start(good)
    second = ended(pool)

    assert (first, second, pool.busy) == ([broken], [good], 0)
    pool.close()


def test_an_interrupted_wait_ends_and_a_full_pipe_is_no_error() -> None:
    pool = Pool(1)

    for _ in range(100_000):
        pool.interrupt()

    assert ended(pool) == []
    with selectors.DefaultSelector() as selector:
        selector.register(pool, selectors.EVENT_READ)
        assert selector.select(0) == []


def test_a_pool_that_is_gone_leaves_no_open_file_behind() -> None:
    gc.collect()  # what other tests left to be collected
    before, others = open_files(), threading.enumerate()

    for _ in range(20):
        pool, job = Pool(1), Job()
        job.go.set()
        pool.start(job)
        ended(pool)
        pool.close()
        _join_all_but(others)
        del pool
    gc.collect()

    assert open_files() <= before


def test_a_call_that_hangs_keeps_the_pipe_until_it_has_ended() -> None:
    others = threading.enumerate()
    pool, job = Pool(1), Job()
    pool.start(job)
    assert job.started.wait(10)
    reader = pool.fileno()
    pool.close()
    del pool
    gc.collect()

    kept = os.fstat(reader)
    job.go.set()
    _join_all_but(others)

    assert kept.st_ino


def _join_all_but(others: list[threading.Thread]) -> None:
    """Calls that earlier tests left hanging go on."""
    for thread in threading.enumerate():
        if thread not in others:
            thread.join(10)


def test_a_call_that_is_overdue_gives_its_place_to_another_one() -> None:
    pool = Pool(1)
    hung, good = Job(channel_id=7), Job(channel_id=8)
    pool.start(hung)
    assert hung.started.wait(10)

    hung.overdue = True
    free = pool.size - pool.busy
    pool.start(good)
    began = good.started.wait(10)
    busy = dict(pool.busy_by_channel)
    hung.go.set()
    good.go.set()
    pool.close()

    assert (free, began, busy) == (1, True, {8: 1})


def test_a_job_that_gets_no_thread_of_its_own_is_run_by_one_that_is_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    pool, first, second = Pool(2), Job(), Job()
    pool.start(first)
    assert first.started.wait(10)
    with monkeypatch.context() as refusing:
        refusing.setattr(threading.Thread, "start", refuse)

        pool.start(second)

    first.go.set()
    second.go.set()
    ended_jobs = [*ended(pool)]
    while pool.busy:
        ended_jobs += ended(pool)
    assert ended_jobs == [first, second]
    pool.close()
