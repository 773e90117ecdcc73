"""A recipient within this process, and one in a process of its own."""

from collections.abc import Iterator

import pytest

from delivery.simulator.client import Simulator
from ledgers.models import Channel
from tests.delivery import senders
from tests.factories import make_channel


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> senders.Desk:
    """A new recipient behind `tests.delivery.senders.send`."""
    fresh = senders.Desk()
    monkeypatch.setattr(senders, "desk", fresh)
    return fresh


@pytest.fixture
def alerts(transactional_db: None) -> Channel:
    """The channel `alerts`, through that sender."""
    return make_channel()


@pytest.fixture(scope="module")
def recipient_process() -> Iterator[Simulator]:
    with Simulator.start() as simulator:
        yield simulator


@pytest.fixture
def recipient(recipient_process: Simulator) -> Simulator:
    """A recipient process that remembers nothing of the test before."""
    recipient_process.forget()
    return recipient_process
