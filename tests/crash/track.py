"""Every statement, commit and network phase of a path, numbered in the order it is passed.

A dry walk numbers the points of a path; a second walk acts at one of them. Nobody lists the points
by hand, so a statement that is added tomorrow is killed tomorrow.
"""

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

from django.db import DataError, OperationalError, connection

from delivery.crashlab.points import POINTS, die, note
from ledgers import boundaries
from tests.crash import clock

T = TypeVar("T")
_SAVEPOINT = re.compile(r"SAVEPOINT\b.*")  # its name is another one in each process
_TABLE = re.compile(r"(?:FROM|INTO|UPDATE)\s+\"?([a-z_]+)")


class Mode(StrEnum):
    """What is done at a point."""

    KILL = "kill"  # SIGKILL
    STOP = "stop"  # SIGSTOP, the lease runs out, another finishes, SIGCONT
    RAISE = "raise"  # the call fails with its own kind of error
    DROP = "drop"  # the call never happens, and nobody says so
    LOST = "lost"  # it is committed, and the acknowledgement is lost
    REFUSE = "refuse"  # the database refuses what a statement writes


class SurpriseError(Exception):
    """An error nobody expects, at a line that makes no call."""


@dataclass(slots=True)
class Track:
    """One walk along a path. `number`: the point to act at, from 1; 0 is a dry walk."""

    folder: Path
    mode: Mode
    number: int
    passed: list[str] = field(default_factory=list)

    def around(
        self,
        name: str,
        perform: Callable[[], T],
        *,
        error: type[Exception],
        nothing: Callable[[], T],
        durable: bool = False,
    ) -> T:
        """One call. `nothing` takes its place; `durable`: what it did is there even if it fails."""
        if self.drops(name):
            return nothing()
        if self.mode == Mode.REFUSE and error is OperationalError and self._reached(name):
            raise DataError(name)
        self.point(f"{name}, before", error)
        result = perform()
        if self.mode == Mode.LOST and durable and self._reached(name):
            connection.connection.close()
            raise error("the connection was lost before it was acknowledged")
        self.point(f"{name}, after", error)
        return result

    def drops(self, name: str) -> bool:
        """Whether this call never happens."""
        return self.mode == Mode.DROP and self._reached(name)

    def point(self, name: str, error: type[Exception] = SurpriseError) -> None:
        """A place between two calls."""
        if self.mode not in {Mode.KILL, Mode.STOP, Mode.RAISE} or not self._reached(name):
            return
        if self.mode == Mode.RAISE:
            raise error(name)
        if self.mode == Mode.KILL:
            die()
        clock.sleep()

    def _reached(self, name: str) -> bool:
        self.passed.append(name)
        if len(self.passed) != self.number:
            return False
        note(self.folder / POINTS, name)
        return True


@contextmanager
def walked(folder: Path, mode: str, number: int) -> Iterator[Track]:
    """Walk the path inside the block, in this process and on its default connection."""
    track = Track(folder, Mode(mode), number)
    boundaries.listen(lambda name: track.point(name, _error_at(name)))
    connection.ensure_connection()
    with ExitStack() as stack:
        stack.enter_context(connection.execute_wrapper(_statements(track)))
        for name in ("_commit", "_rollback"):
            original = getattr(connection, name)
            patch = mock.patch.object(connection, name, _ending(track, name, original))
            stack.enter_context(patch)
        stack.enter_context(mock.patch.object(socket.socket, "send", _sending(track)))
        yield track


def _error_at(name: str) -> type[Exception]:
    return ConnectionResetError if name.startswith("phase-") else SurpriseError


def _statements(track: Track) -> Callable[..., Any]:
    def statement(
        execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        return track.around(
            _label(sql),
            lambda: execute(sql, params, many, context),
            error=OperationalError,
            nothing=lambda: execute("SELECT WHERE false", None, False, context),
            durable=not connection.in_atomic_block,
        )

    return statement


def _label(sql: str) -> str:
    """Its last verb and the first table after it, such as `UPDATE ledgers_delivery`."""
    if _SAVEPOINT.search(sql):
        return _SAVEPOINT.sub("SAVEPOINT", sql)
    verb = next((v for v in ("INSERT", "UPDATE", "DELETE") if v in sql), sql.split(maxsplit=1)[0])
    table = _TABLE.search(sql[max(sql.find(verb), 0) :])
    return f"{verb} {table[1]}" if table else " ".join(sql.split()[:4])


def _ending(track: Track, name: str, original: Callable[[], None]) -> Callable[[], None]:
    def end() -> None:
        # A commit that never reaches the server is noticed by the driver at the next step.
        track.around(
            name.strip("_"),
            original,
            error=OperationalError,
            nothing=lambda: None,
            durable=name == "_commit",
        )

    return end


def _sending(track: Track) -> Callable[..., int]:
    original, broken = socket.socket.send, set[socket.socket]()

    def send(sock: socket.socket, data: memoryview, *flags: int) -> int:
        if sock in broken:
            raise ConnectionResetError("send")
        track.point("send, before", ConnectionResetError)
        first = original(sock, data[: len(data) // 2], *flags)
        try:
            track.point("send, half")
        except SurpriseError:  # the system took so much, says so, and the next call fails
            broken.add(sock)
            return first
        sent = first + original(sock, data[first:], *flags)
        track.point("send, after")
        return sent

    def send_or_drop(sock: socket.socket, data: memoryview, *flags: int) -> int:
        return len(data) if track.drops("send") else send(sock, data, *flags)

    return send_or_drop


def free_idle_transactions() -> None:
    """End the sessions of whoever sleeps inside a transaction, as the server does in time."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname ="
            " current_database() AND state LIKE 'idle in transaction%' AND pid <> pg_backend_pid()"
        )
