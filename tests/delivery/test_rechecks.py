"""However many rows are held, only a few a second are looked at again; a lifted hold wakes all."""

from datetime import timedelta

import pytest
from django.db import connection

from delivery import rechecks
from delivery.breaker import ALL, HELD_BY
from delivery.next_move import HOLD_RECHECK_S
from delivery.rechecks import LONGEST_S, PER_S, Rechecks
from delivery.worker import Worker
from ledgers import outbox
from ledgers.clock import ClockTimestamp, database_now
from ledgers.models import Channel, Delivery, Installation, OutboxItem
from tests.delivery.senders import Desk
from tests.factories import deliveries, delivery, make_due, record, sweep

pytestmark = pytest.mark.django_db(transaction=True)
TO = [f"tg:{number}" for number in range(40)]


def pause() -> None:
    Channel.objects.update(paused_at=ClockTimestamp(), pause_reason="holidays")


def spread_s() -> float:
    """Seconds from the first to the last row's turn."""
    due = OutboxItem.objects.order_by("due_at").values_list("due_at", flat=True)
    return float((due[len(due) - 1] - due[0]).total_seconds())


def test_held_rows_take_turns(alerts: Channel) -> None:
    record(TO)
    pause()

    before = database_now()
    sweep()

    first = OutboxItem.objects.order_by("due_at")[0].due_at
    assert (first - before).total_seconds() >= HOLD_RECHECK_S
    assert spread_s() == pytest.approx((len(TO) - 1) / PER_S, abs=2)


def test_one_held_row_is_looked_at_as_soon_as_ever(alerts: Channel) -> None:
    record(TO[:1])
    pause()

    sweep()

    wait = OutboxItem.objects.get().due_at - database_now()
    assert wait.total_seconds() == pytest.approx(HOLD_RECHECK_S, abs=3)


def test_what_expires_while_it_is_held_waits_for_no_turn(alerts: Channel) -> None:
    last_moment = database_now() + timedelta(seconds=60)
    turns = Rechecks()

    until = database_now() + timedelta(seconds=30)
    for _ in range(10_000):
        turns.turn(alerts.pk, until, None)
    turn = turns.turn(alerts.pk, until, last_moment)

    assert turn == last_moment


def test_no_turn_is_later_than_an_hour(alerts: Channel) -> None:
    turns, now = Rechecks(), database_now()

    last = max(turns.turn(alerts.pk, now, None) for _ in range(100_000))

    assert (last - now).total_seconds() == pytest.approx(LONGEST_S)


def test_a_worker_that_finds_the_channel_open_again_wakes_all(
    alerts: Channel, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a word from whoever opened it: one look at any row is enough."""
    monkeypatch.setattr(rechecks, "WOKEN_AT_ONCE", 7)
    record(TO)
    pause()
    worker = Worker("shift")
    worker.work_off(5)
    worker._ways.ways.clear()

    Channel.objects.update(paused_at=None)
    make_due(destination=TO[0])
    worker.work_off(10)
    worker.end()

    assert {row.status for row in deliveries()} == {"delivered"}


def test_a_new_worker_wakes_what_was_held_before_its_time(alerts: Channel, desk: Desk) -> None:
    record(TO)
    pause()
    sweep()

    Channel.objects.update(paused_at=None)
    make_due(destination=TO[0])
    sweep()

    assert {row.status for row in deliveries()} == {"delivered"}


def test_the_end_of_a_hold_of_everything_wakes_all(alerts: Channel, desk: Desk) -> None:
    record(TO)
    worker = Worker("shift")
    record(["tg:before"], run_id="run-0")
    worker.work_off(5)
    Installation.objects.update(held_at=ClockTimestamp(), held_reason="a drill")
    record(TO, run_id="run-2")
    worker._hold._next = 0.0
    worker.work_off(5)
    held = Delivery.objects.filter(status="pending").count()

    Installation.objects.update(held_at=None, held_reason="")
    worker._hold._next = 0.0
    worker.work_off(10)
    worker.end()

    assert held == len(TO)
    assert not Delivery.objects.filter(status="pending").exists()


def test_a_recovered_route_wakes_more_than_a_thousand(
    alerts: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last step of the ramp frees all, a batch in each turn."""
    monkeypatch.setattr(rechecks, "WOKEN_AT_ONCE", 7)
    record(TO)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ledgers_delivery SET cause = %s", [f"held: {HELD_BY} open"])
        cursor.execute("UPDATE ledgers_outboxitem SET due_at = now() + interval '50 minutes'")
    worker = Worker("shift")
    monkeypatch.setattr("delivery.worker.breaker.take_freed", lambda: {alerts.pk: ALL})

    worker._wake_held()
    monkeypatch.setattr("delivery.worker.breaker.take_freed", dict)
    after_one_turn = OutboxItem.objects.filter(due_at__lte=database_now()).count()
    for _ in range(6):
        worker._wake_held()

    assert after_one_turn == 7
    assert OutboxItem.objects.filter(due_at__lte=database_now()).count() == len(TO)
    assert delivery(TO[0]).status == "pending"


def test_no_more_are_woken_than_asked_for_however_the_statement_is_planned(alerts: Channel) -> None:
    """A nested loop over the queue reads `IN (SELECT … LIMIT 7)` anew for each of its rows."""
    record(TO)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ledgers_delivery SET cause = 'held: for the holidays'")
        cursor.execute("UPDATE ledgers_outboxitem SET due_at = now() + interval '50 minutes'")
        for other_way in ("hashjoin", "mergejoin", "hashagg", "sort", "material", "memoize"):
            cursor.execute(f"SET enable_{other_way} = off")

    woken = outbox.wake_held(alerts.pk, "held: ", 7, LONGEST_S)

    with connection.cursor() as cursor:
        cursor.execute("RESET ALL")
    assert woken == 7
    assert OutboxItem.objects.filter(due_at__lte=database_now()).count() == 7
