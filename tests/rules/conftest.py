"""A recipient within this process, for the tests that go through the database."""

import pytest

from tests.delivery import senders


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> senders.Desk:
    """A new recipient behind `tests.delivery.senders.send`."""
    fresh = senders.Desk()
    monkeypatch.setattr(senders, "desk", fresh)
    return fresh
