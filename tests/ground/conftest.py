"""A ground of the session's own, and this process's database connection on it."""

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from tests.conftest import verify_ledgers
from tests.ground.desk import Desk
from tests.ground.scene import Scene
from tests.ground.server import NAME


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A server of one's own takes a while, whatever is done to it."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def scene(django_test_environment: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Scene]:
    """Server, network, recipient and channels. Tests leave them as they found them."""
    with tempfile.TemporaryDirectory(prefix="ground-") as folder, Scene(Path(folder)) as scene:
        with django_db_blocker.unblock(), standing_on(scene):
            scene.fill()
            # A first worker makes this host know the database: tests record from elsewhere.
            Desk(scene, Path(folder), "first").manage("deliver", "--once")
        yield scene


@pytest.fixture
def desk(scene: Scene, django_db_blocker: DjangoDbBlocker, tmp_path: Path) -> Iterator[Desk]:
    """Work, workers and what they come to; everything heals and is verified afterwards."""
    desk = Desk(scene, tmp_path, secrets.token_hex(4))
    with django_db_blocker.unblock(), standing_on(scene):
        try:
            yield desk
        finally:
            desk.clear()
        verify_ledgers()


@contextmanager
def standing_on(scene: Scene) -> Iterator[None]:
    """This process's connection goes to the scene's server, past the proxy."""
    usual = dict(connection.settings_dict)
    connection.close()
    ground = {"DATA_FOLDER": scene.server.cluster.folder, "NAME": NAME, "MAIN_DATABASE": NAME}
    connection.settings_dict.update(ground, FSYNC=True)
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.update(usual)
