"""A database that is known as a sample for one test, and its recipient."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings

from config.demo import sample
from delivery.simulator.client import Simulator


@pytest.fixture
def database(transactional_db: None, settings: LazySettings, tmp_path: Path) -> Iterator[None]:
    """Empty ledgers; whatever marks them as a sample does not outlive the test."""
    settings.COUNTERFOIL_DATA = tmp_path
    yield
    sample.unmark()


@pytest.fixture
def a_sample(database: None) -> None:
    """Empty ledgers that are known as a sample's."""
    sample.mark()


@pytest.fixture
def recipient() -> Iterator[Simulator]:
    with Simulator.start() as simulator:
        yield simulator
