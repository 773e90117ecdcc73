"""`manage.py up`, as somebody who has just cloned the project meets it."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import NoReturn

import pytest
import requests
from django.conf import settings
from django.core.management import CommandError

from config import supervisor
from config.embedded import launcher
from config.embedded.cluster import Cluster
from config.management.commands import up
from config.snippet import SNIPPET
from delivery.samples import SLUG
from tests.config.programs import ends
from tests.embedded.processes import ended, python, until

FREE_PORTS_FROM = 18_000


@dataclass
class Installation:
    """A fresh data folder, and the `up` that runs on it."""

    folder: Path
    running: "subprocess.Popen[str] | None" = None

    def up(self, *words: str) -> str:
        """Start; everything it says before it serves."""
        env = {"COUNTERFOIL_FSYNC": "off"}
        command = ["manage.py", "up", "--port", str(FREE_PORTS_FROM), *words]
        self.running = python(self.folder, *command, env=env)
        assert self.running.stdout is not None
        said = ""
        while "Ctrl-C stops" not in said:
            line = self.running.stdout.readline()
            assert line, self.running.communicate()[1]
            said += line
        return said

    def interrupt(self) -> tuple[int, str]:
        """One Ctrl-C, as a terminal sends it; the exit code and what was complained of."""
        assert self.running is not None
        os.killpg(self.running.pid, signal.SIGINT)
        return ends(self.running)


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    made = Installation(tmp_path / "data")
    yield made
    if made.running and made.running.poll() is None:
        made.interrupt()
    launcher.stop(Cluster(made.folder, fsync=False))


def test_the_first_start_prints_an_address_and_a_login_that_work(
    installation: Installation,
) -> None:
    said = installation.up()
    address, password = _address(said), _password(said)

    with requests.Session() as browser:
        form = browser.get(address).text
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form)
        assert token is not None
        fields = {"username": "operator", "password": password, "csrfmiddlewaretoken": token[1]}
        page = browser.post(f"{address}login/?next=/", fields)
        style = browser.get(f"{address}static/admin/css/base.css")
    code, _ = installation.interrupt()

    # Typed in another shell, which does not know of this folder.
    assert said.count(f"COUNTERFOIL_DATA={installation.folder} ") == 2
    assert page.url == address
    assert "operator" in page.text.lower()
    assert style.status_code == 200
    assert code == 0


def test_a_second_start_shows_no_password_and_says_how_to_make_a_new_one(
    installation: Installation,
) -> None:
    password = _password(installation.up())
    installation.interrupt()

    said = installation.up()

    assert password not in said
    assert "changepassword operator" in said


def test_a_taken_port_is_passed_over(installation: Installation) -> None:
    with _taken() as port:
        said = installation.up("--port", str(port))

    assert int(_address(said).rstrip("/").rpartition(":")[2]) > port


def test_the_console_answers_again_after_its_process_was_killed(
    installation: Installation,
) -> None:
    address = _address(installation.up())
    requests.get(address, timeout=20)
    assert installation.running is not None
    web = until(lambda: _web_of(installation.running), "the web process runs")

    assert web is not None
    os.kill(web, signal.SIGKILL)

    # The address was never given up: the visitor waits for the next process and is served.
    assert requests.get(address, timeout=20).status_code == 200


def test_a_second_up_on_the_same_data_folder_is_refused(installation: Installation) -> None:
    installation.up()
    until(lambda: _web_of(installation.running), "the parent has taken over")

    code, told = ends(python(installation.folder, "manage.py", "up"))

    assert code == 2
    assert "Already running, as process" in told


def test_a_program_is_greeted_in_json(installation: Installation) -> None:
    env = {"COUNTERFOIL_FSYNC": "off"}
    command = ["manage.py", "up", "--port", str(FREE_PORTS_FROM), "--json"]
    installation.running = python(installation.folder, *command, env=env)
    assert installation.running.stdout is not None

    said = json.loads(installation.running.stdout.readline())

    assert said["console"].startswith("http://127.0.0.1:")
    assert (said["user"], len(said["password"])) == ("operator", 20)


def test_stop_ends_web_worker_and_database(installation: Installation) -> None:
    installation.up()
    folder = str(installation.folder)
    until(lambda: _web_of(installation.running), "the parent has taken over")

    said = ended(python(installation.folder, "-m", "config.supervisor", "stop", folder))
    said += ended(python(installation.folder, "-m", "config.embedded", "stop", folder))

    assert said == f"{folder}: console, worker and watch stopped\n{folder}: PostgreSQL stopped\n"
    assert installation.running is not None
    assert ends(installation.running)[0] == 0


def test_the_data_folder_is_private(installation: Installation) -> None:
    installation.up()

    assert stat.S_IMODE(installation.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((installation.folder / "secret.key").stat().st_mode) == 0o600


def test_without_a_free_port_the_refusal_names_the_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(up, "PORTS_TRIED", 1)

    with _taken() as port, pytest.raises(CommandError, match=f"ports {port} to {port}"):
        up.listen("127.0.0.1", port)


def test_what_is_printed_to_paste_is_what_the_readme_shows() -> None:
    printed = SNIPPET.format(python="python", channel=SLUG)
    readme = (settings.BASE_DIR / "README.md").read_text()

    code = dedent("\n".join(re.findall(r"(?m)^(?:    .*|)$", printed))).strip()

    assert code in readme


def test_links_in_alarms_lead_to_the_port_that_is_served_whoever_starts_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COUNTERFOIL_CONSOLE_URL", "")  # put back as it was afterwards
    monkeypatch.delenv("COUNTERFOIL_CONSOLE_URL")
    monkeypatch.setattr(os, "chdir", lambda _: None)

    def become(*_: object) -> NoReturn:
        raise InterruptedError

    monkeypatch.setattr(os, "execv", become)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(InterruptedError):
            up.become_parent(tmp_path, listening)

    assert os.environ["COUNTERFOIL_CONSOLE_URL"] == f"http://127.0.0.1:{port}/"


def test_refusing_leaves_no_lock_behind(tmp_path: Path) -> None:
    supervisor.refuse_if_running(tmp_path)
    supervisor.refuse_if_running(tmp_path)


def _address(said: str) -> str:
    found = re.search(r"http://127\.0\.0\.1:\d+/", said)
    assert found is not None, said
    return found[0]


def _password(said: str) -> str:
    found = re.search(r"operator  (\S{20})   \(shown this once\)", said)
    assert found is not None, said
    return found[1]


@contextmanager
def _taken() -> Iterator[int]:
    """A port that somebody else listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def _web_of(process: "subprocess.Popen[str] | None") -> int | None:
    assert process is not None
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for child in map(int, children):
        if b"config.web" in Path(f"/proc/{child}/cmdline").read_bytes():
            return child
    return None
