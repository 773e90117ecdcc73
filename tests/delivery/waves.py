"""A worker's wave taken apart: what is claimed now, on the wire now, settled when the test says."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from delivery.claim import claim
from delivery.reconcile import Search
from delivery.settle import settle
from delivery.submit import Call, Identity
from delivery.timing import boottime
from delivery.wave import open_wave
from tests.delivery.senders import Pause


def take(worker: str = "worker-1") -> list[Call | Search]:
    """Claim all that is due, and write ahead."""
    mark = boottime()
    return open_wave(claim(100, {}, 100), mark, Identity(worker, "host", "build"))


def take_calls(worker: str = "worker-1") -> list[Call]:
    return [job for job in take(worker) if isinstance(job, Call)]


def take_call(worker: str = "worker-1") -> Call:
    (call,) = take_calls(worker)
    return call


def finish(calls: Sequence[Call], worker: str = "worker-1") -> None:
    """Put calls on the wire and settle them together."""
    for call in calls:
        call.run()
    settle(calls, worker)


@contextmanager
def on_the_wire(call: Call, pause: Pause) -> Iterator[None]:
    """The call is at its destination and has no answer until the block ends."""
    thread = threading.Thread(target=call.run, daemon=True)
    thread.start()
    assert pause.reached.wait(10)
    try:
        yield
    finally:
        pause.go.set()
        thread.join(10)
