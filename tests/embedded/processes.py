"""Processes of the project for these tests, and waiting for what they do."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from config.embedded import postmaster
from config.embedded.cluster import Cluster

PROJECT = Path(__file__).resolve().parents[2]
LIMIT_S = 40.0
T = TypeVar("T")

# Connects as the project does, says so, and lives until it is told to end.
CLIENT = """
import sys
import django
django.setup()
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("SELECT current_database()")
    print("connected", *cursor.fetchone(), flush=True)
sys.stdin.read()
"""


@dataclass(frozen=True)
class User:
    """Somebody to run as. Root may become anybody; others are only themselves."""

    name: str
    words: tuple[str, ...] = ()


def users() -> list[User]:
    """Root and a normal user where we are root, else only ourselves."""
    if os.geteuid() != 0:
        return [User("ourselves")]
    # May read paths such as /root, where Python itself may lie; is a normal user in all else.
    capability = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    normal = ("setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups", *capability, "--")
    return [User("root"), User("normal", normal)]


def python(
    folder: Path, *arguments: str, user: User | None = None, env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start Python with the project's settings on the data folder, in a session of its own."""
    return subprocess.Popen(
        [*(user.words if user else ()), sys.executable, *arguments],
        cwd=PROJECT,
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "COUNTERFOIL_DATA": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            **(env or {}),
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def starter(
    folder: Path, user: User | None = None, env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """A process that has the server started and ends."""
    return python(folder, "-m", "config.embedded", "start", str(folder), user=user, env=env)


def connected(folder: Path) -> subprocess.Popen[str]:
    """A process that is connected through the Django backend, and stays."""
    process = python(folder, "-c", CLIENT)
    assert process.stdout is not None
    said = process.stdout.readline()
    assert said == "connected counterfoil\n", process.communicate(timeout=LIMIT_S)
    return process


def ended(process: subprocess.Popen[str]) -> str:
    """What a process said until it ended well."""
    out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, err
    return out


def until(what: Callable[[], T], claim: str) -> T:
    """Look until `what` is true; there is no signal for what other programs do."""
    give_up = time.monotonic() + LIMIT_S
    while not (seen := what()):
        assert time.monotonic() < give_up, f"never: {claim}"
        time.sleep(0.005)
    return seen


def server_of(cluster: Cluster) -> int:
    """The server's process number; fails if none runs."""
    pid = postmaster.running(cluster)
    assert pid is not None, "no server runs"
    return pid


def kill_server(cluster: Cluster) -> int:
    """SIGKILL the server's main process and wait until it is gone."""
    pid = server_of(cluster)
    os.kill(pid, signal.SIGKILL)
    until(lambda: postmaster.running(cluster) is None, "the killed server is gone")
    return pid
