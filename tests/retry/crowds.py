"""Several dispatchers at once, each in a thread with a database connection of its own."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from django.db import connection

from delivery.worker import Worker

Result = TypeVar("Result")


def at_once(count: int, act: Callable[[], Result]) -> list[Result]:
    """What each of `count` threads got from `act`, all let go at the same moment."""
    barrier = threading.Barrier(count)

    def one(_: int) -> Result:
        connection.ensure_connection()
        barrier.wait(30)
        try:
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(one, range(count)))


@contextmanager
def working(worker: Worker) -> Iterator[None]:
    """A worker in a thread of its own, until the block ends."""

    def run() -> None:
        try:
            worker.run_shift(60)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join(30)
