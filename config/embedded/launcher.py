"""Making, starting and stopping an embedded server. Safe to call from any number of processes.

Whoever finds no server takes a file lock, looks again, and starts one. The kernel gives the lock
back when its holder dies, so a killed launcher is simply followed by the next.
"""

import fcntl
import os
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from psycopg import sql

from config.embedded import postmaster, tools
from config.embedded.cluster import PORT, SUPERUSER, Cluster, make_private
from config.embedded.errors import EmbeddedError, ToolError

# After a kill -9 of the server its old backends hold the shared memory until they notice.
START_LIMIT_S = 30.0
LOCK_LIMIT_S = 90.0
INITDB_LIMIT_S = 120.0
STOP_LIMIT_S = 30.0
PAUSE_S = 0.05
LARGEST_LOG_BYTES = 10_000_000
TAIL_BYTES = 2_000


def ensure_running(cluster: Cluster, database: str = "postgres") -> None:
    """Return when the server answers and has `database`, whoever started it.

    Raises:
        EmbeddedError: it could not be made or started; the text holds the end of its log.
    """
    _refuse_hostile(cluster.pgdata)
    cluster.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(cluster.lock):
        if not cluster.pgdata.exists():
            _initialise(cluster)
        _start(cluster)
        _create(cluster, database)


def stop(cluster: Cluster) -> bool:
    """Stop the server if one runs, ending its connections; false if none ran."""
    if not cluster.pgdata.exists():
        return False
    with _locked(cluster.lock):
        if postmaster.running(cluster) is None:
            return False
        owner = tools.owner_for(cluster.pgdata)
        words: list[str | Path] = ["-D", cluster.pgdata, "-m", "fast", "-w", "-s"]
        words += ["-t", f"{STOP_LIMIT_S:.0f}", "stop"]
        tools.run("pg_ctl", words, owner, timeout_s=STOP_LIMIT_S + 5)
        _remove_empty(cluster.new_socket_folder)
    return True


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    give_up = time.monotonic() + LOCK_LIMIT_S
    # Python's descriptors are not inherited, so no server keeps the lock of its launcher.
    with path.open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > give_up:
                    raise EmbeddedError(f"Another process holds {path}; is it stopped?") from None
                time.sleep(PAUSE_S)
        yield


def _refuse_hostile(path: Path) -> None:
    """pg_ctl puts the path between double quotes into a line for the shell."""
    for character in '"$`\\\n':
        if character in str(path):
            raise EmbeddedError(
                f"The embedded PostgreSQL cannot live in {path}: its name holds {character!r}. "
                "Set COUNTERFOIL_DATA to a folder without it."
            )


def _initialise(cluster: Cluster) -> None:
    """Make the files in a scratch folder and rename it when whole: a killed one leaves nothing."""
    _sweep_scratch(cluster.folder)
    owner = tools.owner_for(cluster.pgdata)
    scratch = Path(tempfile.mkdtemp(prefix="initdb-", dir=cluster.folder))
    make_private(scratch, owner)
    tools.run("initdb", _initdb_words(cluster, scratch), owner, timeout_s=INITDB_LIMIT_S)
    scratch.rename(cluster.pgdata)
    _sync_folder(cluster.folder)


def _initdb_words(cluster: Cluster, target: Path) -> list[str | Path]:
    """Locale C, whatever the machine has; connections are guarded by the folder's mode."""
    return [
        "-D",
        target,
        f"--username={SUPERUSER}",
        "--auth-local=trust",
        "--auth-host=reject",
        "--encoding=UTF8",
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--set=timezone=UTC",
        "--set=log_timezone=UTC",
        *([] if cluster.fsync else ["--no-sync"]),
    ]


def _sweep_scratch(folder: Path) -> None:
    for left in folder.glob("initdb-*"):
        # The initdb of a killed launcher may still be writing; what it leaves goes next time.
        shutil.rmtree(left, ignore_errors=True)


def _remove_empty(socket_folder: Path) -> None:
    """A folder under the temporary folder is left to nobody; the data folder is never empty."""
    with suppress(OSError):
        socket_folder.rmdir()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _start(cluster: Cluster) -> None:
    give_up = time.monotonic() + START_LIMIT_S
    said = ""
    while not postmaster.answers(cluster):
        if time.monotonic() > give_up:
            raise EmbeddedError(_no_start(cluster, said))
        if postmaster.running(cluster) is None:
            said = _try_start(cluster)
        time.sleep(PAUSE_S)


def _try_start(cluster: Cluster) -> str:
    """One `pg_ctl start`; what it said if it failed."""
    owner = tools.owner_for(cluster.pgdata)
    postmaster.forget_stale_pid(cluster)
    _rotate(cluster.log)
    socket_folder = cluster.new_socket_folder
    if socket_folder != cluster.pgdata:
        make_private(socket_folder, owner)
    words: list[str | Path] = ["-D", cluster.pgdata, "-l", cluster.log, "-w", "-s"]
    words += ["-t", f"{START_LIMIT_S:.0f}", "-o", _server_options(cluster, socket_folder)]
    try:
        tools.run("pg_ctl", [*words, "start"], owner, timeout_s=START_LIMIT_S + 5)
    except ToolError as error:
        return str(error)
    return ""


def _server_options(cluster: Cluster, socket_folder: Path) -> str:
    """Words for a shell: pg_ctl hands them to one."""
    quoted = str(socket_folder).replace('"', '""')
    settings = {
        "listen_addresses": "",
        "port": str(PORT),
        "unix_socket_directories": f'"{quoted}"',
        "unix_socket_permissions": "0700",
    }
    if not cluster.fsync:
        settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
    return " ".join(f"-c {name}={shlex.quote(value)}" for name, value in settings.items())


def _rotate(log: Path) -> None:
    if log.exists() and log.stat().st_size > LARGEST_LOG_BYTES:
        log.replace(log.with_suffix(".log.old"))


def _no_start(cluster: Cluster, said: str) -> str:
    tail = ""
    if cluster.log.exists():
        tail = cluster.log.read_bytes()[-TAIL_BYTES:].decode(errors="replace")
    return (
        f"The embedded PostgreSQL in {cluster.folder} did not answer within {START_LIMIT_S:.0f} s. "
        f"{said}\nThe end of {cluster.log}:\n{tail}"
    )


def _create(cluster: Cluster, database: str) -> None:
    """Create `database` if it is not there. The caller holds the lock, so nobody else does."""
    with psycopg.connect(cluster.conninfo(), autocommit=True) as connection:
        known = "SELECT 1 FROM pg_database WHERE datname = %s"
        if connection.execute(known, [database]).fetchone() is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(database)))
