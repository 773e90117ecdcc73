"""Data folders: one made once and copied, where making it is not the point."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.embedded import launcher
from config.embedded.cluster import Cluster


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose server was made and never started."""
    cluster = Cluster(tmp_path_factory.mktemp("pristine"), fsync=False)
    launcher._initialise(cluster)
    return cluster.folder


@pytest.fixture
def cluster(pristine: Path, tmp_path: Path) -> Iterator[Cluster]:
    """A cluster that exists and does not run."""
    folder = tmp_path / "data"
    subprocess.run(["cp", "-a", pristine, folder], check=True)  # with owners and modes
    cluster = Cluster(folder, fsync=False)
    yield cluster
    launcher.stop(cluster)


@pytest.fixture
def running(cluster: Cluster) -> Cluster:
    """A cluster whose server answers."""
    launcher.ensure_running(cluster)
    return cluster


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Cluster]:
    """A data folder that does not exist yet."""
    cluster = Cluster(tmp_path / "data", fsync=False)
    yield cluster
    launcher.stop(cluster)
