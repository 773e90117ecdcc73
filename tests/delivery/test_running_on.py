"""A call that runs on past its deadline keeps its row: bytes may still leave."""

from datetime import timedelta

import pytest
from django.db import connection

from delivery.submit import Call
from delivery.timing import boottime
from delivery.worker import Worker
from ledgers.clock import database_now
from ledgers.models import Attempt, Channel, OutboxItem
from tests.delivery.senders import Desk, Pause
from tests.delivery.waves import on_the_wire, take_call, take_calls
from tests.factories import delivery, make_due, record
from tests.ledgers.connections import second_connection

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_lease_of_a_call_that_runs_on_is_renewed_and_the_attempt_says_so(
    alerts: Channel, desk: Desk
) -> None:
    pause = Pause()
    desk.script("tg:1001", pause)
    record()
    call = take_call()
    worker = Worker("shift")
    with on_the_wire(call, pause):
        call.journal.deadline = 0.0
        worker._pool.running.add(call)
        OutboxItem.objects.update(due_at=database_now() + timedelta(seconds=2))

        worker._renew()
        item, attempt = OutboxItem.objects.get(), Attempt.objects.get()

    worker._pool.running.clear()
    worker._calls = [call]
    worker._settle()
    assert item.due_at > database_now() + timedelta(seconds=30)
    assert attempt.lease_until == item.due_at
    assert delivery().status == "delivered"
    assert not Attempt.objects.get().late


def test_a_row_that_somebody_holds_keeps_no_other_lease_from_being_renewed(
    alerts: Channel, desk: Desk
) -> None:
    record(["tg:1", "tg:2"])
    worker = Worker("shift")
    for call in take_calls():
        call.journal.deadline = 0.0
        worker._pool.running.add(call)
    soon = database_now() + timedelta(seconds=30)
    OutboxItem.objects.update(due_at=soon)

    with second_connection() as other, connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '2s'")
        other.execute("SELECT 1 FROM ledgers_outboxitem ORDER BY delivery_id LIMIT 1 FOR UPDATE")
        worker._renew()
        cursor.execute("RESET statement_timeout")

    held, free = OutboxItem.objects.order_by("pk")
    assert held.due_at == soon < free.due_at


def test_a_lease_that_is_over_is_not_renewed(alerts: Channel, desk: Desk) -> None:
    record()
    call = take_call()
    make_due()
    worker = Worker("shift")
    call.journal.deadline = 0.0
    worker._pool.running.add(call)

    worker._renew()

    assert OutboxItem.objects.get().due_at < database_now()
    assert take_calls("worker-2") == []
    assert delivery().status == "unknown"


def test_an_ending_worker_waits_for_a_call_as_long_as_its_own_deadline(
    alerts: Channel, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("delivery.worker.DRAIN_S", 0.0)
    pause = Pause()
    desk.script("tg:1001", pause)
    record()
    worker = Worker("shift")
    worker._origin.learn()
    worker._claim()
    assert pause.reached.wait(10)
    monkeypatch.setattr(worker, "_wait", lambda listener: pause.go.set())

    worker._drain()

    assert delivery().status == "delivered"


def test_an_ending_worker_gives_a_call_that_its_deadline_ends_a_moment_to_say_so(
    alerts: Channel, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause = Pause(answer=TimeoutError("no answer in time"))
    desk.script("tg:1001", pause)
    record()
    worker = Worker("shift")
    worker._origin.learn()
    worker._claim()
    assert pause.reached.wait(10)
    (job,) = worker._pool.running
    assert isinstance(job, Call)
    job.journal.deadline = boottime()
    monkeypatch.setattr(worker, "_wait", lambda listener: pause.go.set())

    worker._drain()

    attempt = Attempt.objects.get()
    assert (attempt.outcome, attempt.phase) == ("ambiguous", "writing")
    assert delivery().status == "unknown"
