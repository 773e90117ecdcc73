"""A recipient, scratch databases on the tests' server, and real servers for what takes one."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.embedded import launcher
from config.embedded.cluster import Cluster
from config.recovery.copies import Hand
from config.recovery.scratch import Scratch, scratch
from delivery.simulator.client import Simulator
from ledgers.models import Channel
from tests.delivery.conftest import desk, recipient, recipient_process
from tests.delivery.senders import Desk
from tests.factories import make_channel
from tests.restore import sites
from tests.restore.sites import Site
from tests.reviews.conftest import alice, bob

__all__ = ["alice", "bob", "desk", "recipient", "recipient_process"]


@pytest.fixture
def place(transactional_db: None) -> Iterator[Scratch]:
    """Where databases may be made; they are dropped afterwards."""
    with scratch() as place:
        yield place


@pytest.fixture
def alerts(transactional_db: None, desk: Desk) -> Channel:
    """The channel `alerts`, to a recipient that accepts."""
    return make_channel()


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory, django_test_environment: None) -> Cluster:
    """A data folder with a migrated, empty ledger and no mark; its server is stopped."""
    cluster = Cluster(tmp_path_factory.mktemp("pristine") / "data", fsync=False)
    launcher.ensure_running(cluster, sites.DATABASE)
    site = Site(cluster, cluster.folder)
    assert site.copy.manage("migrate", "-v0", "--no-input").returncode == 0
    shutil.rmtree(cluster.folder / "mark", ignore_errors=True)
    launcher.stop(cluster)
    return cluster


@pytest.fixture
def site(pristine: Cluster, tmp_path: Path) -> Iterator[Site]:
    """An installation on a server of its own; whatever happened to it, its ledgers are whole."""
    cluster = sites.copied(pristine.folder, tmp_path / "site")
    launcher.ensure_running(cluster)
    yield Site(cluster, cluster.folder)
    launcher.stop(cluster)


@pytest.fixture
def hand(site: Site, recipient: Simulator) -> Iterator[Hand]:
    """Somebody in the installation, whose channels lead to the recipient."""
    with site.copy.hand() as hand:
        hand("begin")
        sites.channels(hand, recipient)
        yield hand
