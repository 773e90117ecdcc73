"""Somebody who may do everything, and ledgers in which everything has happened."""

from collections.abc import Iterator

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from delivery.simulator.client import Simulator
from tests.commands.shell import typed
from tests.factories import make_channel, record, sweep


@pytest.fixture(scope="module")
def recipient() -> Iterator[Simulator]:
    with Simulator.start() as simulator:
        yield simulator


@pytest.fixture
def browser(db: None) -> Client:
    """A superuser's browser."""
    client = Client()
    user = get_user_model().objects.create_superuser("root", password="a long password")
    client.force_login(user)
    return client


@pytest.fixture
def lived(transactional_db: None, recipient: Simulator) -> None:
    """Delivered, unknown and owed deliveries; attempts, evidence, a trail, a queue, a worker."""
    recipient.forget()
    recipient.behave("room:b", "accept_and_reset", look_up="error", listing="error")
    make_channel(adapter="simulator", settings={"url": recipient.url}, look_up_schedule=[3600])
    record(["room:a", "room:b"], "<script>alert(1)</script>" + "x" * 10_000)
    sweep()
    typed("reconcile")
    record(["room:later"], run_id="run-2")
