"""Is a server running in this folder, and does it answer?"""

import os
import subprocess
from pathlib import Path

import psycopg

from config.embedded.cluster import Cluster


def running(cluster: Cluster) -> int | None:
    """The number of the server process that runs in the cluster's folder, else None."""
    pid = _noted_pid(cluster.pgdata / "postmaster.pid")
    if pid is None:
        return None
    return pid if str(cluster.pgdata) in _arguments(pid) else None


def answers(cluster: Cluster) -> bool:
    """Whether a connection can be made now; false while it starts or recovers."""
    try:
        psycopg.connect(cluster.conninfo()).close()
    except psycopg.OperationalError:
        return False
    return True


def forget_stale_pid(cluster: Cluster) -> None:
    """Remove a pid file whose number belongs to a process that is not this folder's server.

    After a restart of the machine (or of a container, where numbers are small and come again) the
    old number may be anybody's, and PostgreSQL then refuses to start. The shared memory, which
    old backends may still hold, is guarded by PostgreSQL itself, independently of this file.
    """
    if running(cluster) is None:
        (cluster.pgdata / "postmaster.pid").unlink(missing_ok=True)


def _noted_pid(pid_file: Path) -> int | None:
    try:
        return abs(int(pid_file.read_text(errors="replace").split("\n", 1)[0]))
    except (OSError, ValueError):
        return None


def _arguments(pid: int) -> list[str]:
    """The command line of a process; empty if there is none, or if it is only a zombie.

    Not its working folder: reading that of a process of another user takes a right which root
    lacks in many containers.
    """
    if Path("/proc/self/cmdline").exists():
        try:
            raw = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return []
        return [os.fsdecode(part) for part in raw.split(b"\0")]
    return _arguments_from_ps(pid)


def _arguments_from_ps(pid: int) -> list[str]:
    """For systems without /proc: `ps` joins arguments with spaces, so split at the option."""
    listed = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(pid)],  # noqa: S607  found on PATH on purpose
        capture_output=True,
        text=True,
        check=False,
    )
    after = listed.stdout.partition(" -D ")[2]
    return [after.partition(" -c ")[0].strip()]
