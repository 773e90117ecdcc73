"""Scratch databases on the tests' server, and real servers for what takes one."""

from collections.abc import Iterator

import pytest

from config.recovery.scratch import Scratch, scratch
from ledgers.models import Channel
from tests.delivery import senders
from tests.factories import make_channel


@pytest.fixture
def place(transactional_db: None) -> Iterator[Scratch]:
    """Where databases may be made; they are dropped afterwards."""
    with scratch() as place:
        yield place


@pytest.fixture
def alerts(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Channel:
    """The channel `alerts`, to a recipient that accepts."""
    monkeypatch.setattr(senders, "desk", senders.Desk())
    return make_channel()
