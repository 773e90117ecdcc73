"""Real servers as children of the tests: each on a port of its own of loopback, its words kept."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

# Made by .ci/install-servers: one virtual environment per server, from its pinned requirements.
INSTALLED = Path(__file__).parents[2] / ".data" / "servers"
HOW = "not installed; on Debian and Ubuntu: .ci/install-servers"


def program(server: str, name: str = "python") -> Path:
    """A program of a server that has its own environment; skips the test where there is none."""
    path = INSTALLED / server / "bin" / name
    if not path.exists():
        pytest.skip(f"{server}: {HOW}")
    return path


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@contextmanager
def running(
    output: Path,
    *command: str | Path,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
    user: str | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """A server in the foreground until left; what it says is appended to `output`."""
    with output.open("ab") as said:
        server = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            cwd=folder,
            env={**os.environ, **(variables or {})},
            user=user,
        )
        try:
            yield server
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait(20)


def wait_for_greeting(port: int, seconds: float = 20.0) -> None:
    """Until somebody greets there, as mail servers do."""
    until = time.monotonic() + seconds
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as greeted:
                if greeted.recv(1):
                    return
        except OSError:
            if time.monotonic() > until:
                raise
        time.sleep(0.05)


def wait_for_connection(port: int, seconds: float = 20.0) -> None:
    """Until somebody listens there."""
    until = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
        time.sleep(0.02)


def wait_for_answer(url: str, output: Path, seconds: float = 90.0) -> None:
    """Until an HTTP server answers anything but a 5xx there; else what it said by then."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if requests.get(url, timeout=5).status_code < 500:
                return
        except requests.ConnectionError:
            time.sleep(0.1)
    raise TimeoutError(f"no answer from {url}; it said:\n{output.read_text()[-4000:]}")
