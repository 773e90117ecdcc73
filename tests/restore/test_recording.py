"""What is recorded after a restore may have been recorded, and sent, before it."""

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction

from delivery import lifting, restoring
from delivery.simulator.client import Simulator
from ledgers import instance
from ledgers.clock import database_now
from ledgers.models import Channel, Delivery, Event, Installation
from ledgers.runs import open_run
from tests.delivery.senders import Desk
from tests.factories import deliveries, delivery, record, sweep
from tests.restore.backups import Backup
from tests.restore.scenes import let_old_leases_end, lift, whole
from tests.reviews.scenes import BLIND, channel

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_run_of_before_that_records_again_is_found_and_not_sent_twice(
    recipient: Simulator,
) -> None:
    """The step's first recording is lost; the second one derives the same identity, and looks."""
    channel(recipient, look_up_schedule=[0])
    open_run("run-1", "tester")
    backup = Backup.now()
    before = record(["room:a", "room:b"])
    sweep()
    backup.restore()
    sweep()
    lift()

    again = record(["room:a", "room:b"])
    born = {row.status for row in again}
    let_old_leases_end()
    sweep()

    assert [row.delivery_id for row in again] == [row.delivery_id for row in before]
    assert born == {"unknown"}
    assert {row.status for row in deliveries()} == {"delivered"}
    assert recipient.effects_by_destination() == {"room:a": 1, "room:b": 1}
    assert recipient.submissions() == 2


def test_another_roster_and_another_text_the_second_time_are_not_sent_blindly(
    recipient: Simulator,
) -> None:
    """What the lost roster had is found, whatever is said now; whom it had not nobody is told."""
    channel(recipient, look_up_schedule=[0])
    open_run("run-1", "tester")
    backup = Backup.now()
    record(["room:a"], content="as it was said first")
    sweep()
    backup.restore()
    sweep()
    lift()

    record(["room:a", "room:new"], content="in other words")
    let_old_leases_end()
    sweep()

    assert delivery("room:a").status == "delivered"
    assert delivery("room:new").cause.partition(":")[0] == "absent"
    assert recipient.submissions() == 1
    assert recipient.messages("room:a")[0]["text"].startswith("as it was said first")


def test_another_body_under_the_same_key_is_evidence_and_no_second_message(
    recipient: Simulator,
) -> None:
    recipient.behave("room:a", dedupe_s=3600)
    channel(recipient, settings=BLIND | {"dedupe_window_s": 3600}, lease_s=3)
    open_run("run-1", "tester")
    backup = Backup.now()
    record(["room:a"], content="as it was said first")
    sweep()
    backup.restore()
    sweep()
    lift()

    record(["room:a"], content="in other words")
    let_old_leases_end()
    sweep()

    row = delivery("room:a")
    assert row.status == "unknown"
    assert list(row.attempts.values_list("outcome", flat=True)) == ["mismatch"]
    assert recipient.effects("room:a") == 1


def test_everything_recorded_under_the_hold_is_in_doubt(alerts: Channel, desk: Desk) -> None:
    restoring.hold_restored("a dump", 1, instance.present(), "tester")

    (row,) = record(["tg:1"])

    assert (row.status, row.rewound_at is not None) == ("unknown", True)
    assert list(row.events.order_by("pk").values_list("kind", flat=True)) == ["record", "rewind"]


def test_a_run_that_begins_after_the_release_is_in_no_doubt(alerts: Channel, desk: Desk) -> None:
    lifting.declare_restored("a dump", "ann")
    sweep()
    lift()

    record(["tg:1"], run_id="later")
    sweep()

    assert (delivery("tg:1", "later").status, desk.effects("tg:1")) == ("delivered", 1)


def test_who_lifts_may_say_until_when_runs_may_be_ones_that_were_lost(
    alerts: Channel, desk: Desk
) -> None:
    """A run that was opened after the backup is opened anew: it only looks as if it began now."""
    lifting.declare_restored("a dump", "ann")
    sweep()
    until = database_now() + timedelta(hours=1)
    lifting.lift(whole().held_at, "the old workers are off", "ann", doubt_until=until)

    (row,) = record(["tg:1"], run_id="lost")
    sweep()

    assert whole().doubt_until == until
    assert (row.status, desk.effects("tg:1")) == ("unknown", 0)


def test_what_is_committed_by_somebody_who_did_not_see_the_hold_is_reckoned_with(
    alerts: Channel, desk: Desk
) -> None:
    """A recording that began before the hold and commits after it: rewinding waits for it."""
    recorded, go = threading.Event(), threading.Event()

    def agent_that_takes_its_time() -> None:
        with transaction.atomic():
            record(["tg:1"])
            recorded.set()
            go.wait(20)
        connection.close()

    thread = threading.Thread(target=agent_that_takes_its_time)
    thread.start()
    assert recorded.wait(20)
    restoring.hold_restored("a dump", 1, instance.present(), "tester")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [restoring.RECORDING])
        free = cursor.fetchone()[0]

    go.set()
    thread.join(20)
    while restoring.rewind_some("tester") is not None:
        pass

    assert free is False
    assert delivery("tg:1").status == "unknown"
    assert Installation.objects.get().rewound_to is None
    assert Event.objects.filter(kind="rewound").count() == 1
    assert Delivery.objects.get().events.filter(kind="rewind").count() == 1
