"""From recorded to delivered: an attempt on record for each call, and what each answer does."""

from typing import Any

import pytest
from django.db import connection, transaction

from delivery import agent, hooks
from delivery.errors import NotSentError, OpenTransactionError, RefusedError
from delivery.outcomes import Ambiguous, Deferred, InFlight
from delivery.worker import Worker
from ledgers.models import Attempt, Channel, Event, OutboxItem
from tests.delivery.senders import Desk
from tests.factories import deliveries, delivery, make_due, record, sweep

pytestmark = pytest.mark.django_db(transaction=True)


def outcomes(destination: str = "tg:1001") -> list[str]:
    return [a.outcome for a in delivery(destination).attempts.all()]


def test_what_is_owed_is_sent_once_and_everything_about_it_is_kept(
    alerts: Channel, desk: Desk
) -> None:
    record(["tg:1", "tg:2"], {"text": "hello"})

    worker = sweep()

    rows = deliveries()
    assert [row.status for row in rows] == ["delivered", "delivered"]
    assert [desk.effects(row.destination) for row in rows] == [1, 1]
    assert (worker.claimed, worker.settled) == (2, 2)
    assert not OutboxItem.objects.exists()
    for row in rows:
        (call,) = [one for one in desk.received if one.destination == row.destination]
        attempt = row.attempts.get()
        assert (call.payload, call.key, call.recognizer) == (
            {"text": "hello"}, row.idempotency_key, row.recognizer,
        )  # fmt: skip
        assert (attempt.number, attempt.outcome, attempt.late) == (1, "accepted", False)
        assert attempt.worker == worker.who.name
        assert attempt.authority["credential"] == "alerts-key"
        assert attempt.authority["destination_rule"] == "*"
        assert attempt.opened_at < (attempt.closed_at or attempt.opened_at)
        kinds = [event.kind for event in row.events.all()]
        assert kinds == ["record", "begin", "accept"]


def test_what_the_provider_calls_it_is_kept_on_the_delivery(alerts: Channel, desk: Desk) -> None:
    desk.script("tg:1001", "msg-77")
    record()

    sweep()

    assert delivery().provider_message_id == "msg-77"
    assert agent.owed("run-1").standing.deliveries[0].provider_message_id == "msg-77"


def test_a_second_sweep_finds_nothing_to_do(alerts: Channel, desk: Desk) -> None:
    record()
    sweep()

    again = sweep()

    assert (again.claimed, len(desk.received)) == (0, 1)


def test_what_was_not_sent_is_tried_again_until_it_is(alerts: Channel, desk: Desk) -> None:
    desk.script("tg:1001", NotSentError("no route"), NotSentError("no route"))
    record()

    sweep()

    assert outcomes() == ["not_sent", "not_sent", "accepted"]
    assert len({one.key for one in desk.received}) == 1
    assert desk.effects("tg:1001") == 1


def test_a_permanent_refusal_fails_at_once(alerts: Channel, desk: Desk) -> None:
    desk.script("tg:1001", RefusedError("no such chat"))
    record()

    sweep()

    row = delivery()
    assert (row.status, outcomes()) == ("failed", ["refused"])
    assert agent.owed("run-1").standing.deliveries[0].advice == "not_sent"
    assert "no such chat" in row.attempts.get().error


def test_a_used_up_budget_fails(alerts: Channel, desk: Desk) -> None:
    Channel.objects.update(max_attempts=2)
    desk.script("tg:1001", *[NotSentError("no route")] * 5)
    record()

    sweep()

    assert (delivery().status, len(desk.received)) == ("failed", 2)
    assert delivery().cause.startswith("exhausted:")


def test_being_asked_to_come_back_later_waits_that_long_and_costs_no_attempt(
    alerts: Channel, desk: Desk
) -> None:
    Channel.objects.update(max_attempts=1)
    desk.script("tg:1001", Deferred("busy", retry_after_s=3600))
    record()

    sweep()
    row = delivery()
    waiting = (row.status, row.next_attempt_at)
    make_due()
    sweep()

    closed = row.attempts.get().closed_at
    assert waiting[0] == "pending"
    assert waiting[1] is not None
    assert closed is not None
    assert (waiting[1] - closed).total_seconds() == pytest.approx(3600, abs=1)
    assert outcomes() == ["deferred"]  # asked again too early, it still waits


@pytest.mark.parametrize(
    "entry",
    [
        RuntimeError("connection reset"),
        SystemExit(1),
        Ambiguous("who knows"),
        InFlight("still at it"),
        TimeoutError(),
    ],
    ids=repr,
)
def test_what_nobody_can_tell_is_unknown_and_never_sent_again(
    alerts: Channel, desk: Desk, entry: Any
) -> None:
    desk.script("tg:1001", entry)
    record()

    sweep()
    make_due()
    sweep()

    row = delivery()
    assert (row.status, row.attempts.count(), len(desk.received)) == ("unknown", 1, 1)
    assert row.unknown_since is not None
    assert Event.objects.filter(delivery=row, kind__in=["suspect", "ask"]).exists()
    assert not OutboxItem.objects.exists()
    assert agent.owed("run-1").standing.deliveries[0].advice == "do_not_resend"


def test_one_bad_destination_disturbs_no_other(alerts: Channel, desk: Desk) -> None:
    desk.script("tg:5", RefusedError("no"))
    desk.script("tg:6", RuntimeError("reset"))
    record([f"tg:{n}" for n in range(10)])

    sweep()

    statuses = {row.destination: row.status for row in deliveries()}
    assert statuses.pop("tg:5") == "failed"
    assert statuses.pop("tg:6") == "unknown"
    assert set(statuses.values()) == {"delivered"}
    assert all(desk.effects(destination) == 1 for destination in statuses)


def test_sending_inside_a_transaction_is_refused_before_anything_is_claimed(
    alerts: Channel, desk: Desk
) -> None:
    record()

    with transaction.atomic(), pytest.raises(OpenTransactionError, match="inside a transaction"):
        Worker("shift").run_shift(5)

    assert desk.received == []
    assert OutboxItem.objects.get().leased is False
    assert Attempt.objects.count() == 0


def test_an_id_that_no_text_should_be_is_kept_and_stops_nobody(alerts: Channel, desk: Desk) -> None:
    desk.script("tg:1", "id-\ud800\x00")
    record(["tg:1", "tg:2"])

    sweep()

    assert {row.status for row in deliveries()} == {"delivered"}
    assert delivery("tg:1").attempts.get().provider_message_id.startswith("id-")


@pytest.mark.parametrize("raised", [ZeroDivisionError, SystemExit, GeneratorExit])
def test_receivers_are_told_once_of_each_delivery_and_cannot_undo_it(
    alerts: Channel, desk: Desk, raised: type[BaseException]
) -> None:
    told: list[str] = []

    def receive(destination: str, **_: Any) -> None:
        told.append(destination)
        raise raised

    record(["tg:1", "tg:2"])
    hooks.delivered.connect(receive)
    try:
        sweep()
    finally:
        hooks.delivered.disconnect(receive)

    assert sorted(told) == ["tg:1", "tg:2"]
    assert {row.status for row in deliveries()} == {"delivered"}
    assert Event.objects.filter(kind="hook_failed").count() == 2


def test_a_queue_with_nothing_due_costs_one_look_and_no_lease(alerts: Channel, desk: Desk) -> None:
    record(not_before=Channel.objects.get().created_at.replace(year=2099))
    fence = _last_fence()

    worker = sweep()

    assert (worker.claimed, _last_fence()) == (0, fence)
    assert OutboxItem.objects.get().leased is False


def _last_fence() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT last_value FROM ledgers_fence")
        return int(cursor.fetchone()[0])
