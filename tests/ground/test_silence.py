"""A peer that vanishes without a word, and acknowledges nothing: a real network between two."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from config.databases import Limits, from_url
from tests.embedded.processes import until
from tests.ground.desk import Desk
from tests.ground.proxy import Proxy
from tests.ground.server import APP, NAME

HERE, THERE = "10.213.77.1", "10.213.77.2"
PATIENCE_MS = 2000


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], capture_output=True, text=True, check=True)


@dataclass(frozen=True)
class Cable:
    """Between this machine and a namespace. Cut, it swallows everything."""

    name: str

    @property
    def inside(self) -> list[str]:
        """What runs a command at the other end."""
        return ["ip", "netns", "exec", self.name]

    def lay(self) -> None:
        ip("netns", "add", self.name)
        ip("link", "add", self.name, "type", "veth", "peer", "name", "far", "netns", self.name)
        ip("address", "add", f"{HERE}/30", "dev", self.name)
        ip("netns", "exec", self.name, "ip", "address", "add", f"{THERE}/30", "dev", "far")
        ip("netns", "exec", self.name, "ip", "link", "set", "far", "up")
        self.mend()

    def cut(self) -> None:
        ip("link", "set", self.name, "down")

    def mend(self) -> None:
        ip("link", "set", self.name, "up")

    def remove(self) -> None:
        # The link goes with its other end.
        subprocess.run(["ip", "netns", "delete", self.name], capture_output=True, check=False)


@pytest.fixture
def cable(desk: Desk) -> Iterator[Cable]:
    cable = Cable(f"cf{desk.mark}")
    try:
        cable.lay()
    except (OSError, subprocess.CalledProcessError) as error:
        cable.remove()
        pytest.skip(f"a network namespace needs root: {getattr(error, 'stderr', error)}".strip())
    yield cable
    cable.mend()
    desk.clear()
    cable.remove()


@pytest.mark.service("netns")
def test_a_server_that_vanished_is_given_up_and_found_again(desk: Desk, cable: Cable) -> None:
    with Proxy(desk.scene.server.socket, HERE) as proxy:
        url = f"postgres://{APP}@{HERE}:{proxy.port}/{NAME}?tcp_user_timeout={PATIENCE_MS}"
        worker = desk.worker(inside=cable.inside, env={"DATABASE_URL": url})

        cable.cut()
        until(lambda: worker.said("the database fails"), "the worker gives it up")
        cable.mend()
        until(lambda: worker.said("the database works again"), "the worker finds it again")

    assert worker.said("Traceback") == 0


def test_without_being_told_otherwise_it_takes_a_minute() -> None:
    parsed = {"ENGINE": "x", "OPTIONS": {"host": "db.acme.test"}}

    options = from_url(parsed, Limits(60, 30))["OPTIONS"]

    assert options["tcp_user_timeout"] == 60_000
