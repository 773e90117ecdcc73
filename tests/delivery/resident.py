"""A resident worker in a process of its own, and what it is told."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection


@contextmanager
def resident_worker(*options: str) -> Iterator[subprocess.Popen[str]]:
    """`manage.py deliver` on the test's database; it listens when the block begins."""
    process = subprocess.Popen(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), "deliver", *options],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        if "is working" not in process.stdout.readline():
            raise RuntimeError(process.communicate()[1])
        yield process
    finally:
        process.kill()
        process.communicate()


def terminate(process: subprocess.Popen[str]) -> tuple[int, str]:
    """SIGTERM, and its exit code and error output once it has ended."""
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    return process.returncode, said


def wait_for(sql: str, *parameters: object) -> None:
    """Until this query gives true; it is asked of the database, which pauses between."""
    with connection.cursor() as cursor:
        for _ in range(3000):
            cursor.execute(f"SELECT COALESCE(({sql}), false), pg_sleep(0.01)", parameters)  # type: ignore[arg-type]
            if cursor.fetchone()[0]:
                return
    raise TimeoutError(sql)
