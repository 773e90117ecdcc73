"""The hold of everything, and a worker that is in the middle of its work."""

import threading
from collections.abc import Iterator

import pytest

from delivery import switches
from delivery.channels.contract import Journal, Rendered
from delivery.channels.function import FunctionAdapter
from delivery.hold import LEARNED_EVERY_S, Hold
from delivery.journal import stop_sign
from delivery.outcomes import Outcome
from delivery.worker import Worker
from ledgers.models import Attempt, Installation
from ledgers.states import DeliveryStatus as S
from tests.delivery.senders import desk
from tests.factories import delivery, make_channel, make_due, record, sweep

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def no_sign() -> Iterator[None]:
    yield
    stop_sign.set("")
    stop_sign.hold("")


def test_the_hold_goes_up_and_down_with_its_row() -> None:
    switches.hold("fire", "ann")
    Hold().learn()
    assert stop_sign.reason == "fire"

    switches.release(Installation.objects.get().held_at, "out", "ann")
    Hold().learn()

    assert stop_sign.reason == ""


def test_the_row_is_looked_at_once_a_second_not_with_every_turn() -> None:
    hold = Hold()
    hold.learn()
    switches.hold("fire", "ann")

    hold.learn()

    assert stop_sign.reason == ""
    assert LEARNED_EVERY_S < 5


def test_an_ending_workers_sign_stays_when_the_hold_ends() -> None:
    stop_sign.set("the worker is ending")
    stop_sign.hold("fire")
    stop_sign.hold("")

    assert stop_sign.reason == "the worker is ending"


def test_a_call_that_was_handed_out_before_the_hold_lets_no_byte_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is on record and still connecting: its last check comes after the worker learned."""
    connecting, learned = threading.Event(), threading.Event()
    submit = FunctionAdapter.submit

    def slowly(self: FunctionAdapter, sent: Rendered, key: str, journal: Journal) -> Outcome:
        connecting.set()
        assert learned.wait(15)
        journal.before_first_byte()
        return submit(self, sent, key, journal)

    class Watching(Worker):
        def _turn(self) -> bool:
            more = super()._turn()
            if connecting.is_set() and Installation.objects.get().held_at is None:
                switches.hold("fire", "ann")
            if stop_sign.reason == "fire":
                learned.set()
            return more

    monkeypatch.setattr(FunctionAdapter, "submit", slowly)
    make_channel(deadline_s=20, lease_s=60)
    record(["tg:waits"])
    before = len(desk.received)

    Watching("shift", concurrency=2).run_shift(15)

    assert len(desk.received) == before
    attempt = Attempt.objects.get()
    assert (attempt.outcome, attempt.error) == ("not_tried", "held: fire")
    assert delivery("tg:waits").status == S.PENDING

    monkeypatch.undo()
    switches.release(Installation.objects.get().held_at, "out", "ann")
    make_due()
    sweep()

    assert delivery("tg:waits").status == S.DELIVERED
