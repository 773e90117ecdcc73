"""Surviving: Ctrl-C, and SIGKILL of whoever started the server, of the server, of initdb."""

import os
import signal
import threading
from pathlib import Path

import psycopg
import pytest

from config.embedded import launcher, postmaster
from config.embedded.cluster import Cluster
from tests.embedded.processes import (
    connected,
    ended,
    kill_server,
    python,
    server_of,
    starter,
    until,
)

RECONNECTS = """
import os, signal, time
import django
django.setup()
from django.db import close_old_connections, connection
from config.embedded import postmaster
connection.ensure_connection()
os.kill(postmaster.running(connection.cluster), signal.SIGKILL)
while connection.is_usable():
    time.sleep(0.01)  # its backend has not noticed yet
close_old_connections()  # as between two requests, or two tasks
with connection.cursor() as cursor:
    cursor.execute("SELECT 42")
    print(*cursor.fetchone())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_the_server_outlives_a_signal_to_the_group_that_started_it(
    cluster: Cluster, number: signal.Signals
) -> None:
    launched = connected(cluster.folder)
    server = server_of(cluster)

    os.killpg(launched.pid, number)
    launched.wait()

    assert server_of(cluster) == server
    assert postmaster.answers(cluster)


def test_the_server_outlives_every_process_of_the_project(cluster: Cluster) -> None:
    clients = [connected(cluster.folder) for _ in range(2)]
    server = server_of(cluster)

    for client in clients:
        client.kill()
        client.wait()

    assert server_of(cluster) == server
    assert postmaster.answers(cluster)


def test_a_launcher_killed_while_the_server_starts_is_followed_by_the_next(
    cluster: Cluster,
) -> None:
    killed = starter(cluster.folder)
    until((cluster.pgdata / "postmaster.pid").exists, "the server began to start")
    killed.kill()
    killed.wait()

    said = ended(starter(cluster.folder))

    assert said == f"{cluster.folder}: PostgreSQL runs as process {server_of(cluster)}\n"


@pytest.mark.parametrize("victims", ["launcher", "initdb", "both"])
def test_a_kill_during_initdb_leaves_nothing_half_made(empty: Cluster, victims: str) -> None:
    killed = starter(empty.folder)
    until(lambda: list(empty.folder.glob("initdb-*/global")), "initdb is half way")
    initdb = _children(killed.pid)
    if victims != "initdb":
        killed.kill()
    if victims != "launcher":
        for pid in initdb:
            os.kill(pid, signal.SIGKILL)
    killed.wait()
    unmade = not empty.pgdata.exists()

    ended(starter(empty.folder))

    assert unmade
    assert postmaster.answers(empty)


def test_a_killed_server_is_started_again_by_whoever_connects_next(running: Cluster) -> None:
    killed = kill_server(running)

    connected(running.folder).kill()

    assert server_of(running) != killed


def test_a_process_whose_server_was_killed_connects_again(cluster: Cluster) -> None:
    assert ended(python(cluster.folder, "-c", RECONNECTS)) == "42\n"


def test_a_start_waits_for_old_backends_that_still_hold_the_shared_memory(
    running: Cluster,
) -> None:
    busy = psycopg.connect(running.conninfo(), options="-c statement_timeout=1500ms")
    backend = busy.info.backend_pid
    working = threading.Thread(target=_compute, args=[busy])
    working.start()
    until(lambda: _is_active(running, backend), "the backend computes")
    kill_server(running)

    held = Path(f"/proc/{backend}").exists()
    launcher.ensure_running(running)
    working.join()

    assert held
    assert postmaster.answers(running)


def test_what_was_committed_before_the_kill_is_there_after_it(running: Cluster) -> None:
    with psycopg.connect(running.conninfo(), autocommit=True) as before:
        before.execute("SET synchronous_commit = on")
        before.execute("CREATE TABLE kept AS SELECT 7 AS value")
        kill_server(running)

    launcher.ensure_running(running)

    with psycopg.connect(running.conninfo()) as after:
        assert after.execute("SELECT value FROM kept").fetchone() == (7,)


def _compute(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """Without ever waiting, so that the end of the server goes unnoticed until the time-out."""
    try:
        connection.execute("SELECT sum(n % 7) FROM generate_series(1, 1000000000) AS n")
    except psycopg.OperationalError:
        connection.close()


def _is_active(cluster: Cluster, backend: int) -> bool:
    with psycopg.connect(cluster.conninfo()) as connection:
        found = connection.execute(
            "SELECT state = 'active' FROM pg_stat_activity WHERE pid = %s", [backend]
        ).fetchone()
    return found is not None and bool(found[0])


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]
