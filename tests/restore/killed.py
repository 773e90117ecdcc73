"""What a child does in these tests: a worker that comes to a restored database, and is killed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from django.db import connection

from delivery import restoring
from delivery.crashlab.points import POINTS, die, note
from delivery.worker import Worker

Execute = Callable[..., Any]


def come(folder: Path, *, number: int, when: str) -> int:
    """Work a shift; SIGKILL right before or after its statement of this number (0: none).

    Returns:
        how many statements it made.
    """
    made = 0

    def count(execute: Execute, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal made
        made += 1
        here = made == number
        if here and when == "before":
            _end(folder, sql)
        said = execute(sql, params, many, context)
        if here:
            _end(folder, sql)
        return said

    with mock.patch.object(restoring, "BATCH", 2), connection.execute_wrapper(count):
        Worker("shift", 4).run_shift(20)
    return made


def _end(folder: Path, sql: str) -> None:
    note(folder / POINTS, " ".join(sql.split())[:60])
    die()
