"""A recipient that counts, channels to it, and people who decide."""

from collections.abc import Iterator

import pytest

from delivery.simulator.client import Simulator
from reviews.people import Person
from tests.reviews.people import person


@pytest.fixture(autouse=True)
def patient_breaker(monkeypatch: pytest.MonkeyPatch) -> None:
    """An incident of 38 needs 38 failures in a row."""
    monkeypatch.setattr("delivery.breaker.OPEN_AFTER", 10_000)


@pytest.fixture(scope="module")
def recipient_process() -> Iterator[Simulator]:
    with Simulator.start() as simulator:
        yield simulator


@pytest.fixture
def recipient(recipient_process: Simulator) -> Simulator:
    """A recipient process that remembers nothing of the test before."""
    recipient_process.forget()
    return recipient_process


@pytest.fixture
def alice(transactional_db: None) -> Person:
    """On call: she triages and decides what one person may."""
    return person("alice", "triager")


@pytest.fixture
def bob(transactional_db: None) -> Person:
    """The second person, who also decides."""
    return person("bob", "triager", "approver")
