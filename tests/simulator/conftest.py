"""One recipient process for the folder, as new for each test."""

from collections.abc import Iterator

import pytest

from delivery.simulator.client import Simulator


@pytest.fixture(scope="session")
def started() -> Iterator[Simulator]:
    with Simulator.start() as simulator:
        yield simulator


@pytest.fixture
def recipient(started: Simulator) -> Simulator:
    started.forget()
    return started
