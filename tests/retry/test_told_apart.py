"""What is owed, what is in doubt and what has ended is told apart, however much has ended."""

from datetime import timedelta

import pytest

from delivery.simulator.client import Simulator
from delivery.worker import Worker
from ledgers.clock import database_now
from ledgers.models import Delivery, OutboxItem
from tests.crash.clock import pass_s
from tests.delivery.senders import Desk
from tests.factories import delivery, make_channel, record, sweep
from tests.retry.test_fairness import corrupt_all
from tests.retry.ways import DAY, MINUTE, rooms


def test_what_we_dropped_is_told_apart_from_what_the_provider_lost(recipient: Simulator) -> None:
    rooms(recipient)
    record(["room:accepted"], run_id="run-1")
    sweep()
    record(["room:overdue"], run_id="run-2")  # and no worker comes
    pass_s(3 * DAY)

    accepted, overdue = delivery("room:accepted"), delivery("room:overdue", "run-2")

    assert (accepted.status, accepted.attempt_count) == ("delivered", 1)
    assert accepted.provider_message_id
    assert (overdue.status, overdue.attempt_count) == ("pending", 0)
    assert overdue.next_attempt_at is not None
    assert database_now() - overdue.next_attempt_at > timedelta(days=2)
    assert OutboxItem.objects.get().delivery_id == overdue.pk


@pytest.mark.unverified_ledgers
def test_two_thousand_failed_ones_keep_nothing_new_from_being_recorded_and_sent(
    desk: Desk,
) -> None:
    make_channel()
    record([f"tg:{n}" for n in range(2001)], run_id="damaged")
    corrupt_all("damaged")
    Worker("shift", concurrency=64).run_shift(MINUTE)

    (row,) = record(["tg:new"])
    sweep()

    row.refresh_from_db()
    assert Delivery.objects.filter(status="failed").count() == 2001
    assert (row.status, desk.effects("tg:new")) == ("delivered", 1)
