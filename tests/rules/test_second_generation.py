"""A second generation goes out only while the first is still in doubt, whoever is faster."""

from collections.abc import Callable
from typing import Any

import pytest

from delivery import submit, wave
from delivery.history import read
from delivery.resend import successors
from delivery.submit import Call
from delivery.ways import Ways
from ledgers import rulings
from ledgers.models import Delivery
from ledgers.rulings import By, Successor
from ledgers.states import DeliveryStatus
from tests.crash.clock import pass_s
from tests.delivery.senders import Desk
from tests.delivery.waves import finish, take, take_call
from tests.factories import make_channel, record

BY = By("alice", {"reason": "it is needed"})


@pytest.fixture
def first(transactional_db: None, desk: Desk) -> Call:
    """An attempt that is still to be sent, by a worker that lost its lease: the row is unknown."""
    make_channel()
    record()
    call = take_call("worker-1")
    pass_s(3600)
    take("worker-2")
    assert row(1).status == DeliveryStatus.UNKNOWN
    return call


def row(generation: int) -> Delivery:
    return Delivery.objects.get(generation=generation)


def send_again() -> None:
    made = successors(read([row(1).pk], Ways()), Ways())[row(1).pk]
    assert isinstance(made, Successor)
    rulings.add_generations([made], BY, undo_s=0)


def test_it_does_not_begin_once_the_first_has_arrived_after_the_decision(
    first: Call, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_again()
    monkeypatch.setattr(wave, "write_ahead", _after(lambda: finish([first]), submit.write_ahead))

    calls = take("worker-2")

    assert calls == []
    assert row(1).status == DeliveryStatus.DELIVERED
    assert (row(2).status, row(2).attempt_count) == (DeliveryStatus.PENDING, 0)
    monkeypatch.undo()
    take("worker-2")
    assert row(2).status == DeliveryStatus.DELIVERED


def _after(event: Callable[[], None], original: Callable[..., Any]) -> Callable[..., Any]:
    def late(*args: Any) -> Any:
        event()
        return original(*args)

    return late


def test_it_begins_while_the_first_is_in_doubt(first: Call, desk: Desk) -> None:
    send_again()

    finish([take_call("worker-2")])

    assert row(2).status == DeliveryStatus.DELIVERED
    assert row(2).attempt_count == 1
