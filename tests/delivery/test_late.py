"""Answers that come when the lease is gone: kept always, and moving no more than they prove."""

from collections.abc import Callable
from typing import Any

import pytest

from delivery import agent, hooks
from delivery.errors import NotSentError, RefusedError
from delivery.settle import settle
from delivery.submit import Call
from ledgers.models import Attempt, Channel, OutboxItem
from tests.crash.clock import pass_s
from tests.delivery.senders import Desk, Pause
from tests.delivery.waves import on_the_wire, take, take_call
from tests.factories import SENDER, delivery, record, sweep

pytestmark = pytest.mark.django_db(transaction=True)

AFTER_THE_LEASE_S = 61.0
LONG_AFTER_S = 3600.0
LOOK_UP: dict[str, Any] = {
    "path": SENDER,
    "look_up_path": "tests.delivery.senders.look_up",
    "look_up_authoritative": True,
}
Start = Callable[[Pause], Call]


@pytest.fixture
def start(alerts: Channel, desk: Desk) -> Start:
    """Record one delivery and take it, its call having no answer until the test lets it go."""

    def record_and_take(pause: Pause) -> Call:
        desk.script("tg:1001", pause)
        record()
        return take_call()

    return record_and_take


def attempts() -> list[tuple[int, str, bool]]:
    return list(Attempt.objects.order_by("number").values_list("number", "outcome", "late"))


def kinds() -> list[str]:
    return [event.kind for event in delivery().events.all()]


def test_an_acceptance_delivers_what_another_worker_had_made_unknown(
    start: Start, desk: Desk
) -> None:
    call = start(pause := Pause())
    with on_the_wire(call, pause):
        pass_s(AFTER_THE_LEASE_S)
        sweep()
        between = delivery().status

    settle([call], "worker-1")

    row = delivery()
    assert between == "unknown"
    assert (row.status, row.provider_message_id) == ("delivered", "id-late")
    assert row.disputed_at is None
    assert attempts() == [(1, "accepted", True)]
    assert kinds() == ["record", "begin", "suspect", "accept"]
    assert desk.effects("tg:1001") == 1


def test_a_refusal_is_kept_moves_nothing_and_wakes_the_row(start: Start) -> None:
    call = start(pause := Pause(RefusedError("no such chat")))
    with on_the_wire(call, pause):
        pass_s(AFTER_THE_LEASE_S)
        sweep()
    assert not OutboxItem.objects.exists()

    settle([call], "worker-1")
    between = delivery().status
    sweep()

    assert (between, delivery().status) == ("unknown", "failed")
    assert attempts() == [(1, "refused", True)]


def test_a_not_sent_frees_the_row_to_be_sent_again(start: Start, desk: Desk) -> None:
    call = start(pause := Pause(NotSentError("no route")))
    with on_the_wire(call, pause):
        pass_s(AFTER_THE_LEASE_S)
        sweep()

    settle([call], "worker-1")
    sweep()

    assert delivery().status == "delivered"
    assert attempts() == [(1, "not_sent", True), (2, "accepted", False)]
    assert len({one.key for one in desk.received}) == 1


def test_an_acceptance_before_anybody_took_the_row_over_delivers_it(start: Start) -> None:
    call = start(pause := Pause())
    with on_the_wire(call, pause):
        pass_s(AFTER_THE_LEASE_S)

    settle([call], "worker-1")

    assert delivery().status == "delivered"
    assert not OutboxItem.objects.exists()


def test_an_acceptance_disputes_a_row_that_was_taken_for_never_sent(
    start: Start, desk: Desk
) -> None:
    Channel.objects.update(settings=LOOK_UP, look_up_schedule=[0])
    desk.found = False
    call = start(pause := Pause())
    with on_the_wire(call, pause):
        pass_s(LONG_AFTER_S)
        sweep()  # it is unknown, is searched, and was not found
        searched = delivery().status
        agent.cancel("run-1")
        between = delivery().status

    settle([call], "worker-1")

    row = delivery()
    assert (searched, between) == ("pending", "cancelled")
    assert row.status == "delivered"
    assert row.disputed_at is not None


def overlap(start: Start, desk: Desk, first: Pause, second: Pause) -> tuple[Call, Call]:
    """Two attempts of one delivery, each by a worker of its own, that both have their answers."""
    Channel.objects.update(settings={"path": SENDER, "dedupe_window_s": 86400})
    one = start(first)
    with on_the_wire(one, first):
        pass_s(LONG_AFTER_S)
        assert take("worker-2") == []  # it is unknown now, and due under the same key
        desk.script("tg:1001", second)
        two = take_call("worker-2")
        with on_the_wire(two, second):
            pass
    return one, two


def test_the_status_follows_from_the_whole_history_and_not_from_the_last_answer(
    start: Start, desk: Desk
) -> None:
    one, two = overlap(start, desk, Pause("id-1"), Pause(NotSentError("no route")))

    settle([two], "worker-2")
    between = delivery().status
    settle([one], "worker-1")
    other_order = delivery()

    assert between == "unknown"  # attempt 2 was not sent; attempt 1 is still in doubt
    assert (other_order.status, other_order.provider_message_id) == ("delivered", "id-1")
    assert attempts() == [(1, "accepted", True), (2, "not_sent", False)]


def test_a_later_not_sent_does_not_undo_an_acceptance(start: Start, desk: Desk) -> None:
    one, two = overlap(start, desk, Pause("id-1"), Pause(NotSentError("no route")))

    settle([one], "worker-1")
    between = delivery().status
    settle([two], "worker-2")

    assert (between, delivery().status) == ("delivered", "delivered")
    assert [outcome for _, outcome, _ in attempts()] == ["accepted", "not_sent"]
    assert not OutboxItem.objects.exists()


def test_two_answers_of_one_delivery_in_one_wave_are_both_kept_in_any_order(
    start: Start, desk: Desk
) -> None:
    one, two = overlap(start, desk, Pause(RuntimeError("reset")), Pause(NotSentError("no route")))

    settle([two, one], "worker-1")

    assert delivery().status == "unknown"
    assert attempts() == [(1, "ambiguous", True), (2, "not_sent", False)]


def test_receivers_are_told_once_however_many_answers_accept_it(start: Start, desk: Desk) -> None:
    told: list[str] = []

    def receive(destination: str, **_: object) -> None:
        told.append(destination)

    one, two = overlap(start, desk, Pause("id-1"), Pause("id-1"))
    hooks.delivered.connect(receive)
    try:
        settle([one], "worker-1")
        settle([two], "worker-2")
    finally:
        hooks.delivered.disconnect(receive)

    assert told == ["tg:1001"]
    assert [outcome for _, outcome, _ in attempts()] == ["accepted", "accepted"]
