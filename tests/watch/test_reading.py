"""What a look sees in the tables, where nothing anywhere has raised an error."""

import asyncio
import gc
import logging
import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django_q.models import OrmQ, Schedule

from delivery import agent
from delivery.heartbeat import Heartbeat, new_identity
from delivery.models import Receipt
from delivery.models import Worker as WorkerRow
from delivery.watch.checks import Finding, State, findings
from delivery.watch.reading import read_figures
from ledgers.clock import database_now
from ledgers.errors import CrashLoopError
from ledgers.execution import complete_step, start_step
from ledgers.models import Channel, Delivery, Installation, OutboxItem
from ledgers.runs import open_run
from ledgers.states import DeliveryStatus as S
from tests.delivery import senders
from tests.factories import SENDER, deliveries, make_channel, make_due, message, record, sweep
from tests.ledgers.rows import lease, row_in
from tests.watch.scenes import beat, overdue

pytestmark = pytest.mark.django_db(transaction=True)
broken = pytest.mark.unverified_ledgers


def seen(check: str) -> Finding:
    """The one finding of a check that is not ok, or else its first."""
    found = [one for one in findings(read_figures()) if one.check == check]
    return max(found, key=lambda one: one.state.badness)


def wrong() -> dict[str, State]:
    return {one.check: one.state for one in findings(read_figures()) if one.state is not State.OK}


@pytest.fixture(autouse=True)
def working() -> None:
    make_channel()
    beat()


def age(table: str, column: str, seconds: float) -> None:
    """Let time pass for a column; who reads it may not know who wrote it."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET {column} = {column} - make_interval(secs => %s)", [seconds]
        )


def test_a_young_and_idle_installation_is_well() -> None:
    assert wrong() == {}


def test_a_hand_off_that_was_garbage_collected_is_seen_from_the_table_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Fire and forget: the task that should deliver is collected, and no error is anywhere."""
    logging.disable(logging.CRITICAL)
    ran: list[str] = []
    try:
        (row,) = record()

        async def agent_that_forgets() -> None:
            async def deliver() -> None:
                await asyncio.get_running_loop().create_future()  # nothing else refers to it
                ran.append("delivered")

            asyncio.create_task(deliver())  # noqa: RUF006  that is the fault
            await asyncio.sleep(0)
            gc.collect()

        asyncio.run(agent_that_forgets())
        age("ledgers_outboxitem", "due_at", 120)
        age("ledgers_delivery", "created_at", 120)
        found = seen("overdue")
    finally:
        logging.disable(logging.NOTSET)

    row.refresh_from_db()
    assert (ran, caplog.records, row.status, row.attempt_count) == ([], [], S.PENDING, 0)
    assert found.state is State.LATE
    assert found.sentence.startswith(
        "1 delivery on channel alerts is due and no worker takes it; owed for 2 min"
    )
    sweep()
    assert [one.status for one in deliveries()] == [S.DELIVERED]
    assert wrong() == {}


def test_a_worker_that_beats_and_takes_nothing_is_deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    WorkerRow.objects.all().delete()
    Heartbeat(new_identity(), "resident").beat(0, 0)
    overdue(120)
    age("delivery_worker", "started_at", 120)

    found = seen("deaf")

    assert found.state is State.RED
    assert "none has taken anything" in found.sentence
    assert seen("overdue").because == "deaf"
    sweep()
    assert wrong() == {}


def test_a_clock_that_was_set_wrong_is_reported_by_its_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = time.time
    monkeypatch.setattr("delivery.heartbeat.time.time", lambda: real() + 61)

    Heartbeat(new_identity(), "resident").beat(0, 0)

    assert seen("clock").sentence.startswith("The clock of worker ")
    assert "61.0 s ahead of the database's." in seen("clock").sentence


@broken
def test_an_open_delivery_without_a_queue_item_is_an_orphan() -> None:
    record()
    OutboxItem.objects.all().delete()

    found = seen("orphans")

    assert found.sentence == "1 delivery needs a machine and is not in its queue."
    assert found.state is State.RED


@broken
def test_a_queue_item_of_a_delivery_that_ended_is_an_orphan() -> None:
    row = row_in(S.DELIVERED)
    channel = Channel.objects.get()
    OutboxItem.objects.create(delivery=row, channel=channel, due_at=database_now())

    assert seen("orphans").sentence == "1 delivery is queued although it ended."


def test_what_waits_for_a_person_or_for_an_earlier_part_is_no_orphan() -> None:
    row_in(S.UNKNOWN)
    row_in(S.FAILED, "run-2")

    assert seen("orphans").state is State.OK


def test_a_run_that_ended_without_the_message_it_announced_is_red_within_one_look() -> None:
    with agent.run("run-1", agent="tester") as run:
        run.step("write").complete({"done": True}, announces=["digest"])

    assert seen("announced").state is State.RED
    assert seen("announced").sentence.startswith("1 completed step announced a message")


def test_an_announced_message_that_is_recorded_in_time_is_no_trouble() -> None:
    run = agent.run("run-1", agent="tester")
    with run:
        step = run.step("write")
        step.complete({"done": True}, announces=["digest"])
        assert seen("announced").state is State.OK  # it has a minute
        step.record([message()])

    assert seen("announced").state is State.OK


def test_a_run_whose_step_kills_its_process_each_time_is_named() -> None:
    _crash_loop()

    found = seen("crash_loop")

    assert found.state is State.LATE
    assert found.sentence.startswith("1 run is stopped: a step killed its process twice")


def _crash_loop() -> None:
    """A step that dies twice beside one that made progress."""
    run = open_run("looping", agent="tester")
    complete_step(start_step(run, "load"), {})
    for _ in range(2):
        start_step(run, "write")
        age("ledgers_step", "lease_until", 9_000)
    with pytest.raises(CrashLoopError):
        start_step(run, "write")


def test_a_secret_that_is_missing_holds_and_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    make_channel("pager", secret_ref="env:NO_SUCH_SECRET")
    record(channel="pager")
    sweep()
    age("ledgers_delivery", "created_at", 61)

    found = seen("held")

    assert (found.state, found.channel) == (State.LATE, "pager")
    assert "credential pager-key unavailable" in found.sentence


def test_a_sender_that_could_not_be_loaded_at_the_start_is_told_and_tried_again() -> None:
    Channel.objects.update(settings={"path": "tests.delivery.no_such_module.send"})
    record()
    sweep()
    age("ledgers_delivery", "created_at", 61)
    assert "not ready" in seen("held").sentence

    Channel.objects.update(settings={"path": SENDER})
    make_due()
    sweep()

    assert [one.status for one in deliveries()] == [S.DELIVERED]
    assert seen("held").state is State.OK


def test_what_a_person_paused_or_everything_that_is_held_is_no_trouble() -> None:
    record()
    Channel.objects.update(paused_at=database_now(), pause_reason="ported")
    sweep()
    age("ledgers_outboxitem", "due_at", 9_000)
    age("ledgers_delivery", "created_at", 9_000)
    assert wrong() == {}

    Channel.objects.update(paused_at=None, pause_reason="")
    Installation.objects.update(held_at=database_now(), held_reason="drill")
    assert wrong() == {}


def test_a_channel_through_which_nothing_goes_is_told_although_its_worker_is_well() -> None:
    senders.desk.script("tg:1001", agent.NotSentError("the line is dead"))
    record()
    Channel.objects.update(retry_schedule=[600])
    sweep()
    age("ledgers_delivery", "created_at", 1_801)

    found = seen("success")

    assert (found.state, found.because) == (State.LATE, "")
    assert found.sentence.startswith("Channel alerts has never delivered anything")


def test_what_is_planned_for_later_is_not_owed_yet() -> None:
    record(not_before=database_now() + timedelta(hours=2))
    age("ledgers_delivery", "created_at", 9_000)

    assert seen("success").state is State.OK


def test_a_lease_that_is_over_is_stuck_where_nobody_claims() -> None:
    (row,) = record()
    lease(row)
    age("ledgers_outboxitem", "due_at", 125)

    found = seen("stuck")

    assert found.state is State.LATE
    assert found.sentence.startswith("1 delivery on channel alerts is held by a worker whose lease")


def test_what_failed_is_told_for_a_day_or_until_it_is_tried_again() -> None:
    row_in(S.FAILED)
    assert seen("failed").state is State.LATE

    age("ledgers_delivery", "finished_at", 86_401)
    assert seen("failed").state is State.OK


def reporting(number: int, **reported: Any) -> list[Delivery]:
    """So many deliveries, accepted twenty minutes ago, on a channel whose provider reports."""
    rows = [record([f"tg:{n}"], run_id=f"run-{n}")[0] for n in range(number)]
    sweep()
    age("ledgers_delivery", "acknowledged_at", 1_200)
    return rows


def report_of(row: Delivery) -> None:
    channel = row.message.channel
    Receipt.objects.create(channel=channel, receipt_id=str(row.pk), kind="delivered", delivery=row)


def test_accepted_and_not_reported_is_told_above_half_of_the_last() -> None:
    rows = reporting(4)
    for row in rows[:2]:
        report_of(row)
    assert seen("reports").state is State.OK

    Receipt.objects.first().delete()  # type: ignore[union-attr]

    assert seen("reports").sentence == (
        "Of the last 4 deliveries on channel alerts that were accepted more than 15 min ago, the"
        " provider has reported nothing about 3."
    )


def test_a_provider_that_never_reports_deliveries_is_not_waited_for() -> None:
    reporting(4)

    assert seen("reports").state is State.OK


def test_accepted_three_days_ago_without_a_report_is_an_alarm_of_its_own() -> None:
    rows = reporting(2)
    report_of(rows[0])
    assert seen("unreported").state is State.OK
    _three_days_pass()

    assert seen("unreported").sentence == (
        "1 delivery on channel alerts is accepted, and the provider has reported nothing for 72 h."
    )


def _three_days_pass() -> None:
    """Also for the trail, which nobody may change."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("UPDATE ledgers_event SET at = at - interval '73 hours'")
        cursor.execute("SET session_replication_role = origin")


def test_nothing_is_due_once_all_of_it_is_delivered() -> None:
    record()
    make_due()
    sweep()

    assert read_figures().owed == 0


@pytest.fixture
def clustered(settings: Any) -> None:
    settings.COUNTERFOIL_QCLUSTER = True
    Schedule.objects.update(next_run=database_now() + timedelta(seconds=20))


def test_a_cluster_that_runs_is_well(clustered: None) -> None:
    assert wrong() == {}


def test_a_schedule_whose_time_has_passed_is_a_stopped_scheduler(clustered: None) -> None:
    Schedule.objects.update(next_run=database_now() - timedelta(seconds=301))

    assert seen("scheduler").state is State.RED


def test_tasks_that_nobody_takes_are_a_deaf_cluster(clustered: None) -> None:
    """A killed idle worker keeps the queue's lock: the processes live, and the tasks lie there."""
    OrmQ.objects.create(key="counterfoil", payload="x", lock=database_now() - timedelta(seconds=61))

    assert seen("scheduler").sentence.startswith("The q cluster takes nothing of what it is handed")


def test_a_schedule_that_somebody_removed_is_told(clustered: None) -> None:
    Schedule.objects.all().delete()

    assert "is gone" in seen("scheduler").sentence
