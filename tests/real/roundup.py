"""Roundup on loopback: an issue tracker, which refuses to run as root."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.real.processes import free_port, program, running, wait_for_answer

PASSWORD = "a-password-of-the-lab"
AGENT, STRANGER = "agent", "stranger"
# As nobody, who may still read what lies below a folder of root's alone.
_AS_NOBODY = (
    "setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups",
    "--inh-caps=+dac_override", "--ambient-caps=+dac_override",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Roundup:
    """The tracker: where it listens, and the folder with all that it keeps."""

    folder: Path
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/lab"

    def call(self, method: str, path: str, user: str = AGENT, **asked: Any) -> Any:
        """Ask its interface, past the adapter."""
        answer = requests.request(
            method,
            f"{self.url}/rest/data/{path}",
            auth=(user, PASSWORD),
            headers={
                "X-Requested-With": "rest",
                "Origin": f"http://127.0.0.1:{self.port}",
                "Referer": f"{self.url}/",
            },
            timeout=30,
            **asked,
        )
        answer.raise_for_status()
        return answer.json()["data"]

    def issues(self, word: str) -> list[str]:
        """The issues with a word in their title."""
        return [
            one["id"] for one in self.call("GET", "issue", params={"title": word})["collection"]
        ]


@contextmanager
def roundup(folder: Path) -> Iterator[Roundup]:
    """A tracker of the usual kind with two users, running until left."""
    admin, served = program("roundup", "roundup-admin"), program("roundup", "roundup-server")
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("Roundup does not run as root, and setpriv (package util-linux) is missing")
    server = Roundup(folder / "lab", free_port())
    _run(admin, "-i", server.folder, "install", "classic", "sqlite")
    _configure(server)
    _run(admin, "-i", server.folder, "initialise", PASSWORD, said="Y\n")
    for user in (AGENT, STRANGER):
        given = (
            f"username={user}",
            f"password={PASSWORD}",
            "roles=User",
            f"address={user}@lab.test",
        )
        _run(admin, "-i", server.folder, "create", "user", *given)
    as_user = _AS_NOBODY if os.geteuid() == 0 else ()
    output = folder / "roundup.out"
    address = ("-n", "127.0.0.1", "-p", str(server.port), f"lab={server.folder}")
    with running(output, *as_user, served, *address):
        wait_for_answer(f"{server.url}/", output)
        yield server


def _configure(server: Roundup) -> None:
    """Set what has no default, keep its mail in a file, and let a line in between have its port."""
    given = {
        "web": f"{server.url}/",
        "domain": "lab.test",
        "debug": f"{server.folder}/mail.log",
        "csrf_enforce_header_host": "no",
        "api_failed_login_limit": "0",
        # Each request signs in; the usual two million take most of a second.
        "password_pbkdf2_default_rounds": "1000",
    }
    file = server.folder / "config.ini"
    text = file.read_text()
    for name, value in given.items():
        # The first one of that name; the section [mail] comes before others that have a "debug".
        pattern = rf"(?m)^#?{name} =.*$" if name != "debug" else r"(?m)^#?debug = $"
        text, found = re.subn(pattern, f"{name} = {value}", text, count=1)
        assert found, name
    file.write_text(text)


def _run(*command: str | Path, said: str = "") -> None:
    """One of its own commands; where it fails, what it said."""
    words = [str(word) for word in command]
    done = subprocess.run(words, input=said, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
