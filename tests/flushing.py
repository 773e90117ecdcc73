"""In place of Django's flush after a transactional test: as thorough, and ten times as quick.

Django truncates every table and then runs the handlers of `post_migrate`, which took half of the
time of a quick test. Here only tables that hold something are emptied, and the rows that migrations
and those handlers made are copied back, as they were.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.db import connection
from django.test import TransactionTestCase

# Rows that DELETE leaves behind slow later tests down until somebody clears them away.
TRUNCATE_EVERY = 50


@contextmanager
def quick() -> Iterator[None]:
    """While it lasts, transactional tests of this process end so."""
    fresh = Fresh.now()
    original = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]  # not in the stubs
    _patch(lambda _: fresh.restore())
    try:
        yield
    finally:
        _patch(original)


def _patch(method: Callable[[TransactionTestCase], None]) -> None:
    TransactionTestCase._fixture_teardown = method  # type: ignore[attr-defined]  # not in the stubs


@dataclass
class Fresh:
    """A freshly migrated database: its tables, and their rows in PostgreSQL's own copy format."""

    tables: list[str]
    rows: dict[str, bytes] = field(default_factory=dict)
    restored: int = 0

    @classmethod
    def now(cls) -> "Fresh":
        names = connection.introspection.table_names()
        tables = [name for name in names if name != "django_migrations"]
        rows = {table: data for table in tables if (data := _copy_out(table))}
        connection.close()
        return cls(tables, rows)

    def restore(self) -> None:
        """Empty what holds rows, and put back what was there at first."""
        self.restored += 1
        with connection.cursor() as cursor:
            # Triggers and foreign keys have seen these rows once.
            cursor.execute("SET session_replication_role = replica")
            if self.restored % TRUNCATE_EVERY:
                for table in self._filled():
                    cursor.execute(f'DELETE FROM "{table}"')
            else:
                cursor.execute(f"TRUNCATE {', '.join(map(_quoted, self.tables))}")
            for table, data in self.rows.items():
                with cursor.copy(f'COPY "{table}" FROM STDIN') as copy:
                    copy.write(data)
            cursor.execute("SET session_replication_role = origin")

    def _filled(self) -> list[str]:
        questions = (f"SELECT '{t}' WHERE EXISTS (SELECT FROM {_quoted(t)})" for t in self.tables)
        with connection.cursor() as cursor:
            cursor.execute(" UNION ALL ".join(questions))
            return [table for (table,) in cursor.fetchall()]


def _quoted(table: str) -> str:
    return f'"{table}"'


def _copy_out(table: str) -> bytes:
    with connection.cursor() as cursor, cursor.copy(f'COPY "{table}" TO STDOUT') as copy:
        return b"".join(bytes(block) for block in copy)
