"""Starting: at once by many, in any place, as anyone, over whatever was left behind."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from config.embedded import launcher, postmaster, tools
from config.embedded.cluster import LONGEST_SOCKET_NAME, Cluster, make_private
from config.embedded.errors import EmbeddedError, ToolError, UnsafeFolderError
from tests.embedded.processes import (
    PROJECT,
    User,
    ended,
    kill_server,
    python,
    server_of,
    starter,
    users,
)


@pytest.mark.parametrize("count", [2, 6])
def test_starts_at_once_make_one_server(empty: Cluster, count: int) -> None:
    starters = [starter(empty.folder) for _ in range(count)]

    said = {ended(process) for process in starters}

    assert said == {f"{empty.folder}: PostgreSQL runs as process {server_of(empty)}\n"}


@pytest.mark.parametrize("user", users(), ids=lambda user: user.name)
def test_root_and_a_normal_user_can_start_from_nothing(tmp_path: Path, user: User) -> None:
    home = _home_for(user, tmp_path)
    cluster = Cluster(home / "data")

    ended(starter(cluster.folder, user))
    answered = postmaster.answers(cluster)
    owner = cluster.pgdata.stat().st_uid
    ended(python(PROJECT, "-m", "config.embedded", "stop", str(cluster.folder), user=user))

    assert answered
    assert owner != 0
    assert stat.S_IMODE(cluster.folder.stat().st_mode) == 0o700
    assert postmaster.running(cluster) is None


def test_root_changes_no_mode_outside_the_data_folder(tmp_path: Path) -> None:
    above = [tmp_path, *tmp_path.parents]
    before = [(path.stat().st_mode, path.stat().st_uid) for path in above]
    cluster = Cluster(tmp_path / "data", fsync=False)

    launcher.ensure_running(cluster)
    launcher.stop(cluster)

    assert [(path.stat().st_mode, path.stat().st_uid) for path in above] == before


@pytest.mark.parametrize("name", ["with two spaces", "x" * 150, "it's, here; & there"])
def test_any_folder_name_will_do(pristine: Path, tmp_path: Path, name: str) -> None:
    subprocess.run(["cp", "-a", pristine, tmp_path / name], check=True)
    cluster = Cluster(tmp_path / name, fsync=False)

    launcher.ensure_running(cluster)
    answered, where = postmaster.answers(cluster), cluster.socket_folder
    mode = stat.S_IMODE(where.stat().st_mode)
    launcher.stop(cluster)

    assert answered
    assert mode == 0o700
    assert len(os.fsencode(where / ".s.PGSQL.5432")) <= LONGEST_SOCKET_NAME
    assert where == cluster.pgdata or not where.exists()


def test_a_socket_outside_the_data_folder_is_found_from_any_temporary_folder(
    pristine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("x" * 150)
    subprocess.run(["cp", "-a", pristine, folder], check=True)
    cluster = Cluster(folder, fsync=False)
    launcher.ensure_running(cluster)

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    answered = postmaster.answers(cluster)
    launcher.stop(cluster)

    assert cluster.new_socket_folder.parent == tmp_path
    assert answered


def test_a_name_that_a_shell_would_read_is_refused_with_the_character(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedError, match=r"its name holds '\$'"):
        launcher.ensure_running(Cluster(tmp_path / "a$HOME"))

    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("left", ["open to others", "a link"])
def test_a_socket_folder_that_somebody_else_prepared_is_refused(tmp_path: Path, left: str) -> None:
    folder = tmp_path / "prepared"
    if left == "a link":
        folder.symlink_to(tmp_path)
    else:
        folder.mkdir(mode=0o755)

    with pytest.raises(UnsafeFolderError, match="somebody else made it"):
        make_private(folder, os.geteuid())


def test_an_uninstalled_locale_does_not_matter(empty: Cluster) -> None:
    astray = {"LANG": "xx_YY.UTF-8", "LC_ALL": "xx_YY.UTF-8", "LC_MESSAGES": "zz"}

    ended(starter(empty.folder, env=astray))

    assert postmaster.answers(empty)


def test_variables_for_another_postgres_do_not_matter(cluster: Cluster) -> None:
    astray = {"PGDATA": "/nowhere", "PGHOST": "db.example", "PGPORT": "1", "PGUSER": "nobody"}

    ended(starter(cluster.folder, env=astray))

    assert postmaster.answers(cluster)


def test_a_pid_file_with_the_number_of_a_dead_process_is_no_obstacle(running: Cluster) -> None:
    killed = kill_server(running)

    launcher.ensure_running(running)

    assert server_of(running) != killed


def test_a_pid_file_with_the_number_of_another_living_process_is_no_obstacle(
    running: Cluster,
) -> None:
    """As after a restart of the machine: PostgreSQL alone would refuse to start."""
    owner = running.pgdata.stat().st_uid
    kill_server(running)
    other = subprocess.Popen(["sleep", "60"], user=owner if os.geteuid() == 0 else None)
    pid_file = running.pgdata / "postmaster.pid"
    _, _, rest = pid_file.read_text().partition("\n")
    pid_file.write_text(f"{other.pid}\n{rest}")

    launcher.ensure_running(running)

    answered = postmaster.answers(running)
    other.kill()
    other.wait()
    assert answered


@pytest.mark.parametrize("content", ["", "rubbish\n"])
def test_a_damaged_pid_file_is_no_obstacle(cluster: Cluster, content: str) -> None:
    (cluster.pgdata / "postmaster.pid").write_text(content)

    launcher.ensure_running(cluster)

    assert postmaster.answers(cluster)


def test_a_server_that_cannot_start_says_why_and_where_its_log_is(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "START_LIMIT_S", 1.0)
    (cluster.pgdata / "postgresql.conf").write_text("no_such_setting = 1\n")

    with pytest.raises(EmbeddedError, match=r"(?s)server\.log.*no_such_setting"):
        launcher.ensure_running(cluster)


def test_a_program_that_takes_too_long_is_an_error(cluster: Cluster) -> None:
    owner = tools.owner_for(cluster.pgdata)

    with pytest.raises(ToolError, match="took longer"):
        tools.run("pg_test_timing", ["--duration=60"], owner, timeout_s=0.05)


def test_a_large_log_is_put_aside_at_the_next_start(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "LARGEST_LOG_BYTES", 10)
    cluster.log.write_text("a line that was written long ago\n")

    launcher.ensure_running(cluster)

    assert "long ago" in cluster.log.with_suffix(".log.old").read_text()
    assert "long ago" not in cluster.log.read_text()


def test_the_server_listens_on_no_network_address(running: Cluster) -> None:
    pid_file = (running.pgdata / "postmaster.pid").read_text().splitlines()

    assert pid_file[5] == ""


def test_nothing_starts_on_import(tmp_path: Path) -> None:
    modules = "base, client, cluster, launcher, postmaster, tools"
    code = f"import django; django.setup(); from config.embedded import {modules}"

    ended(python(tmp_path / "data", "-c", code))

    assert not (tmp_path / "data" / "postgres").exists()


def test_a_waiting_starter_gives_up_when_the_lock_is_never_released(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "LOCK_LIMIT_S", 0.1)

    with (
        launcher._locked(cluster.lock),
        pytest.raises(EmbeddedError, match="Another process holds"),
    ):
        launcher.ensure_running(cluster)


def test_stopping_what_does_not_run_is_no_error(cluster: Cluster, tmp_path: Path) -> None:
    assert launcher.stop(cluster) is False
    assert launcher.stop(Cluster(tmp_path / "never made")) is False


def _home_for(user: User, tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    if user.words:
        import pwd

        os.chown(home, pwd.getpwnam("daemon").pw_uid, -1)
    return home
