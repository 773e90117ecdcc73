"""Somebody of every role, a channel, and nothing remembered from the test before."""

from collections.abc import Callable, Iterator

import pytest
from django.core.cache import cache
from django.test import Client

from delivery.simulator.client import Simulator
from ledgers.models import Channel
from tests.console.people import browser_of
from tests.factories import make_channel

As = Callable[[str], Client]


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def browse_as(db: None) -> As:
    """The browser of somebody with this role."""
    return browser_of


@pytest.fixture
def admin(db: None) -> Client:
    """A superuser's browser."""
    return browser_of("superuser")


@pytest.fixture
def channel(db: None) -> Channel:
    return make_channel(scopes_required=["chat:write", "files:read"])


@pytest.fixture(scope="module")
def recipient_process() -> Iterator[Simulator]:
    with Simulator.start() as simulator:
        yield simulator


@pytest.fixture
def recipient(recipient_process: Simulator, monkeypatch: pytest.MonkeyPatch) -> Simulator:
    """A recipient that remembers nothing of the test before, and is called however it fails."""
    monkeypatch.setattr("delivery.breaker.OPEN_AFTER", 10_000)
    recipient_process.forget()
    return recipient_process


@pytest.fixture
def triager(transactional_db: None) -> Client:
    return browser_of("triager")


@pytest.fixture
def approver(transactional_db: None) -> Client:
    return browser_of("approver")
