"""A recipient, scratch databases on the tests' server, and real servers for what takes one."""

from collections.abc import Iterator

import pytest

from config.recovery.scratch import Scratch, scratch
from ledgers.models import Channel
from tests.delivery.conftest import desk, recipient, recipient_process
from tests.delivery.senders import Desk
from tests.factories import make_channel

__all__ = ["desk", "recipient", "recipient_process"]


@pytest.fixture
def place(transactional_db: None) -> Iterator[Scratch]:
    """Where databases may be made; they are dropped afterwards."""
    with scratch() as place:
        yield place


@pytest.fixture
def alerts(transactional_db: None, desk: Desk) -> Channel:
    """The channel `alerts`, to a recipient that accepts."""
    return make_channel()
