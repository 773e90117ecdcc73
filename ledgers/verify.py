"""Checking the invariants of the ledgers (`ledgers.invariants`) on the default database.

They hold after every test and on any live database, whatever was killed. Cheap enough to run on a
schedule: each reads through an index or one table once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from ledgers.invariants import INVARIANTS, Invariant

SHOWN = 20  # offenders named per invariant


@dataclass(frozen=True, slots=True)
class Verdict:
    """What checking one invariant came to. `offenders`: at most 20 of `count`."""

    name: str
    promise: str
    count: int
    offenders: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return self.count == 0


def verify() -> list[Verdict]:
    """Check every invariant on the default database. Reads only."""
    return [_check(invariant) for invariant in INVARIANTS]


def _check(invariant: Invariant) -> Verdict:
    rows = _query(invariant.finds) if isinstance(invariant.finds, str) else [*invariant.finds()]
    offenders = tuple(" ".join(map(str, row)) for row in rows[:SHOWN])
    return Verdict(invariant.name, invariant.promise, len(rows), offenders)


def _query(sql: str) -> Sequence[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM ({sql}) AS violation")
        rows: Sequence[tuple[Any, ...]] = cursor.fetchall()
    return rows


def broken(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Those that do not hold."""
    return [verdict for verdict in verdicts if not verdict.holds]
