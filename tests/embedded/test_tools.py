"""Finding PostgreSQL's programs, running them as somebody who may, and recognising a server."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.embedded import postmaster, tools
from config.embedded.cluster import Cluster, make_private
from config.embedded.errors import ToolError

SOMEBODY = 1  # a user who is neither root nor, usually, the one who runs the tests


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    tools._as_user.cache_clear()
    tools.binaries.cache_clear()
    yield
    tools._as_user.cache_clear()
    tools.binaries.cache_clear()


def test_a_missing_package_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)

    with pytest.raises(ToolError, match="Run `make setup`"):
        tools.binaries()


def test_the_smaller_capability_is_tried_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_failure_of", lambda _: None)

    words = tools._as_user(SOMEBODY)

    assert "--ambient-caps=+dac_read_search" in words
    assert f"--reuid={SOMEBODY}" in words


def test_where_the_smaller_capability_is_missing_the_larger_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in a container: it may override modes, but not merely read."""
    monkeypatch.setattr(
        tools, "_failure_of", lambda words: "no" if "read_search" in str(words) else None
    )

    assert "--ambient-caps=+dac_override" in tools._as_user(SOMEBODY)


def test_where_nothing_works_the_first_failure_is_told_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tools, "_setpriv", lambda *_: ("/no/such/setpriv",))

    with pytest.raises(ToolError, match=r"No such file.*Install setpriv"):
        tools._as_user(SOMEBODY)


def test_a_program_that_fails_is_told_in_its_own_words() -> None:
    owner = tools.owner_for(Path("/no/such/folder"))

    with pytest.raises(ToolError, match=r"pg_ctl failed: .*no/such/folder"):
        tools.run("pg_ctl", ["-D", "/no/such/folder", "status"], owner, timeout_s=20)


@pytest.mark.parametrize("by", ["_arguments", "_arguments_from_ps"])
def test_a_server_is_known_by_the_folder_it_was_started_on(running: Cluster, by: str) -> None:
    pid = postmaster.running(running)
    assert pid is not None

    assert str(running.pgdata) in getattr(postmaster, by)(pid)
    assert str(running.pgdata) not in getattr(postmaster, by)(os.getpid())


def test_a_dead_process_that_nobody_reaped_is_no_server(cluster: Cluster) -> None:
    words = ["sh", "-c", "exit 0", "-D", str(cluster.pgdata)]
    dead = subprocess.Popen(words)
    os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
    (cluster.pgdata / "postmaster.pid").write_text(f"{dead.pid}\n")

    found = postmaster.running(cluster)

    dead.wait()
    assert found is None


def test_an_own_private_folder_is_used_again(tmp_path: Path) -> None:
    make_private(tmp_path / "sockets", os.geteuid())
    make_private(tmp_path / "sockets", os.geteuid())

    assert (tmp_path / "sockets").stat().st_mode & 0o777 == 0o700
