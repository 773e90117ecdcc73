"""A recipient in a process of its own, one within this process, and a breaker without a past."""

from collections.abc import Iterator

import pytest

from delivery import submit, worker
from delivery.breaker import Breaker
from delivery.simulator.client import Simulator
from tests.delivery import senders


@pytest.fixture(autouse=True)
def own_breaker(monkeypatch: pytest.MonkeyPatch) -> Breaker:
    """A breaker that learned nothing from other tests."""
    breaker = Breaker()
    monkeypatch.setattr(submit, "breaker", breaker)
    monkeypatch.setattr(worker, "breaker", breaker)
    return breaker


@pytest.fixture(scope="session")
def recipient_process() -> Iterator[Simulator]:
    with Simulator.start() as simulator:
        yield simulator


@pytest.fixture
def recipient(transactional_db: None, recipient_process: Simulator) -> Simulator:
    """A recipient that remembers nothing of the test before."""
    recipient_process.forget()
    return recipient_process


@pytest.fixture
def desk(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> senders.Desk:
    """A new recipient behind `tests.delivery.senders.send`."""
    fresh = senders.Desk()
    monkeypatch.setattr(senders, "desk", fresh)
    return fresh
