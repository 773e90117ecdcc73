"""A simulated recipient, started once for these tests."""

from collections.abc import Iterator

import pytest

from delivery.simulator.client import Simulator


@pytest.fixture(scope="session")
def recipient_process() -> Iterator[Simulator]:
    with Simulator.start() as simulator:
        yield simulator


@pytest.fixture
def recipient(recipient_process: Simulator) -> Simulator:
    recipient_process.forget()
    return recipient_process
