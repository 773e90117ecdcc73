"""A second, real connection to the test's database, and statements that wait in a thread."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection, connections


@contextmanager
def second_connection() -> Iterator[psycopg.Connection[Any]]:
    """A plain connection beside Django's; what it leaves open is rolled back."""
    made = connections.create_connection("default")
    made.ensure_connection()
    raw: psycopg.Connection[Any] = made.connection
    raw.autocommit = False
    try:
        yield raw
    finally:
        raw.rollback()
        made.close()


@contextmanager
def other_thread() -> Iterator[ThreadPoolExecutor]:
    """A thread with a Django connection of its own, closed at the end."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        try:
            yield pool
        finally:
            pool.submit(connections.close_all).result()


def wait_until_blocked(count: int = 1) -> None:
    """Until so many backends of this database wait for a lock that another one holds."""
    with connection.cursor() as cursor:
        for _ in range(4000):
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            if cursor.fetchone()[0] >= count:
                return
            # In a transaction the view stands still until this is called.
            cursor.execute("SELECT pg_stat_clear_snapshot(), pg_sleep(0.005)")
    raise TimeoutError("nobody waits for a lock")
