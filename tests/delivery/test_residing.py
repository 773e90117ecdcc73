"""A resident worker as a real process: it listens, beats, and finishes what it has begun."""

import os
import signal

import pytest
from django.db import connection

from delivery.journal import stop_sign
from delivery.models import Worker as WorkerRow
from delivery.simulator.client import Simulator
from delivery.worker import Worker
from ledgers.models import Attempt, Channel, OutboxItem
from tests.delivery.resident import resident_worker, terminate, wait_for
from tests.factories import deliveries, make_channel, record
from tests.ledgers.connections import other_thread

pytestmark = pytest.mark.django_db(transaction=True)

LISTENING = (
    "SELECT bool_or(query LIKE 'LISTEN%%') FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
DELIVERED = "SELECT bool_and(status = 'delivered') FROM ledgers_delivery"


@pytest.fixture
def rooms(recipient: Simulator, transactional_db: None) -> Channel:
    return make_channel(adapter="simulator", settings={"url": recipient.url})


def test_what_is_on_the_wire_is_finished_and_the_rest_is_handed_back(
    rooms: Channel, recipient: Simulator
) -> None:
    recipient.behave(always="accept_and_wait")
    record([f"room:{n}" for n in range(8)])

    with resident_worker("--concurrency", "2") as process:
        recipient.wait_for("held", 2)
        process.send_signal(signal.SIGTERM)
        wait_for("SELECT count(*) = 2 FROM ledgers_attempt WHERE closed_at IS NULL")
        recipient.release()
        code = process.wait(60)

    statuses = sorted(row.status for row in deliveries())
    worker = WorkerRow.objects.get()
    assert code == 0
    assert statuses == ["delivered"] * 2 + ["pending"] * 6
    assert recipient.effects() == 2
    assert Attempt.objects.count() == 2
    assert OutboxItem.objects.filter(leased=True).count() == 0
    assert worker.stopped_at is not None
    assert (worker.claimed, worker.settled) == (2, 2)


def test_a_notification_wakes_an_idle_worker_that_would_not_poll_for_an_hour(
    rooms: Channel, recipient: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("delivery.worker.POLL_S", 3600)
    worker = Worker(concurrency=2)
    with other_thread() as thread:
        residing = thread.submit(worker.run)
        try:
            wait_for(LISTENING)
            record(["room:ops"])
            recipient.wait_for("effects", 1)
            wait_for(DELIVERED)
        finally:
            worker.stop()
            residing.result(10)
            stop_sign.set("")  # of this process, which goes on

    assert recipient.effects() == 1


def test_a_beating_worker_says_who_where_and_how_far_its_clock_is_off(
    rooms: Channel, recipient: Simulator
) -> None:
    with resident_worker() as process:
        wait_for("SELECT count(*) = 1 FROM delivery_worker")
        worker = WorkerRow.objects.get()
        terminate(process)

    assert worker.pid == process.pid
    assert (worker.mode, worker.stopped_at) == ("resident", None)
    assert abs(worker.clock_offset_s) < 5
    assert worker.host == os.uname().nodename[:60]
    assert WorkerRow.objects.get().stopped_at is not None


def test_a_worker_goes_on_after_its_connections_were_cut(
    rooms: Channel, recipient: Simulator
) -> None:
    with resident_worker() as process:
        record(["room:1"])
        recipient.wait_for("effects", 1)
        wait_for(DELIVERED)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        record(["room:2"], run_id="run-2")
        recipient.wait_for("effects", 2)
        wait_for(DELIVERED)
        code, _ = terminate(process)

    assert code == 0
    assert recipient.effects() == recipient.submissions() == Attempt.objects.count() == 2
