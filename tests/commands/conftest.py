"""A recipient process, and channels that lead to it."""

from collections.abc import Iterator

import pytest

from delivery.simulator.client import Simulator
from ledgers.models import Channel, Delivery
from tests.factories import deliveries, make_channel, record, sweep


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
def alerts(transactional_db: None, recipient: Simulator) -> Channel:
    """A channel that honours no key and can be searched."""
    return make_channel(
        adapter="simulator", settings={"url": recipient.url}, look_up_schedule=[3600]
    )


@pytest.fixture
def unknown(alerts: Channel, recipient: Simulator) -> Delivery:
    """A delivery whose answer was lost after the recipient acted."""
    recipient.behave("room:ops", "accept_and_reset")
    record(["room:ops"])
    sweep()
    (row,) = deliveries()
    assert row.status == "unknown"
    return row
