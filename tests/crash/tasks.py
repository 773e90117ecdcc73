"""What children do in these tests: real workers, and agents and machines that misbehave."""

import errno
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from django.core.management import call_command
from django.db import IntegrityError, OperationalError, connection

from delivery import agent, hooks, worker
from delivery.channels import connections
from delivery.crashlab import points
from delivery.crashlab import tasks as laboratory_tasks
from delivery.crashlab.points import POINTS, freeze, note
from delivery.crashlab.tasks import Armed, record, work
from delivery.facts import AttemptFact
from delivery.pool import Job, Pool
from delivery.worker import Worker
from ledgers.models import OutboxItem
from tests.crash import clock
from tests.crash.track import walked

Execute = Callable[..., Any]


def lane(folder: Path, **how: Any) -> int:
    """`delivery.crashlab.tasks.work`, where time passes as it does in these tests."""
    with mock.patch.dict(points.ACTS, {"stop": clock.sleep}):
        return work(folder, **how)


def shift(folder: Path, **how: Any) -> int:
    """The same, with the real worker and its threads, on every channel."""
    with mock.patch.object(laboratory_tasks, "Lane", _Shift):
        return lane(folder, **{"channel": 0, **how})


class _Shift:
    def __init__(self, channel: int) -> None:
        del channel
        self._worker = Worker("shift", 4)

    def work(self) -> int:
        self._worker.run_shift(60)
        return self._worker.claimed


def blind(folder: Path, *, channel: int, armed: Armed = None) -> int:
    """A worker for which an attempt without an answer never happened: it sends again."""
    with mock.patch.object(AttemptFact, "abandoned", False):
        return work(folder, channel=channel, armed=armed)


def resident(folder: Path, *, concurrency: int) -> None:
    """`manage.py deliver`."""
    del folder
    call_command("deliver", concurrency=concurrency)


def unwritable(folder: Path, *, times: int, patience_s: float = 30.0) -> int:
    """A worker whose first so many writes of `delivered` fail; it is stopped after the first."""
    failed = 0

    def refuse(execute: Execute, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal failed
        target = params.get("target") if isinstance(params, dict) else None
        if target != "delivered" or failed >= times:
            return execute(sql, params, many, context)
        failed += 1
        if failed == 2:
            note(folder / POINTS, "write-failed")
            freeze()
        raise OperationalError("the ledger cannot be written")

    one = Worker("shift", 1)
    with (
        connection.execute_wrapper(refuse),
        mock.patch.object(worker, "DATABASE_PAUSE_S", 0),
        mock.patch.object(worker, "DRAIN_S", patience_s),
    ):
        one.run_shift(patience_s)
    return one.settled


def out_of_descriptors(folder: Path, *, at: int) -> int:
    """A worker in which opening this connection (the first is 1) raises EMFILE."""
    del folder
    opened, original = 0, connections.open_connection

    def open_connection(*arguments: Any) -> Any:
        nonlocal opened
        opened += 1
        if opened == at:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return original(*arguments)

    one = Worker("shift", 1)
    with (
        mock.patch("delivery.channels.http.open_connection", open_connection),
        mock.patch.object(connections.kept, "take", return_value=None),
    ):
        one.run_shift(60)
    return one.claimed


def hooked(folder: Path, *, error: str) -> int:
    """A worker with a receiver that raises after every delivery."""
    del folder

    def receiver(**_: object) -> None:
        raise {"IntegrityError": IntegrityError, "LookupError": LookupError}[error](error)

    hooks.delivered.connect(receiver)
    one = Worker("shift", 4)
    one.run_shift(60)
    return one.claimed


def suicidal_agent(
    folder: Path, *, run_id: str, channel: str, to: Sequence[str], lease_s: float
) -> str:
    """An agent whose second step kills its own process, each time."""
    try:
        with agent.run(run_id, agent="suicidal") as run:
            notify = run.step("notify", lease_s=lease_s)
            notify.complete({}, [agent.Message("notice", channel=channel, to=to, content="hello")])
            run.step("reinstall", lease_s=lease_s)
            note(folder / POINTS, "reinstalling")
            os.kill(os.getpid(), signal.SIGKILL)
    except agent.CrashLoopError:
        return "crash_loop"
    return "ended"


class _Serial(Pool):
    """Makes each call where it is handed out, so that points come in the same order each time."""

    def start(self, job: Job) -> None:
        self.running.add(job)
        self._jobs.put(job)
        self._jobs.put(None)
        self._work()


def _serial_shift() -> None:
    with (
        mock.patch.object(worker, "Pool", _Serial),
        mock.patch.object(worker, "DATABASE_PAUSE_S", 0),
        mock.patch.object(worker, "DRAIN_S", 2),
    ):
        Worker("shift", 4).run_shift(5)


def serial(folder: Path, *, armed: Armed) -> None:
    """A worker that makes its calls itself, one after the other."""
    with mock.patch.dict(points.ACTS, {"stop": clock.sleep}):
        points.arm(folder, armed)
        _serial_shift()


def walk_agent(folder: Path, *, mode: str, number: int, run: dict[str, Any]) -> list[str]:
    """Record, along a track; the names of the points it passed."""
    with walked(folder, mode, number) as track:
        record(folder, **run)
    return track.passed


def walk_worker(folder: Path, *, mode: str, number: int, run: dict[str, Any]) -> list[str]:
    """Work what is due, along a track; the names of the points it passed."""
    del run
    with walked(folder, mode, number) as track:
        _serial_shift()
    return track.passed


def recover(folder: Path, *, run: dict[str, Any], outlive_s: float) -> bool:
    """Clean processes come back, again and again as leases run out; whether all came to rest."""
    clock.pass_s(outlive_s)
    record(folder, **run)
    for _ in range(8):
        _serial_shift()
        if not OutboxItem.objects.exists():
            return True
        clock.pass_s(outlive_s)
    return False
