"""A worker that comes to a database that was put back holds it, and sends nothing twice."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from delivery import mark
from delivery.worker import Worker
from ledgers.models import Channel, Event, Installation
from tests.delivery.senders import Desk
from tests.factories import delivery, record, sweep
from tests.restore.backups import Backup

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_backup_from_before_a_send_is_held_and_nothing_is_sent_again(
    alerts: Channel, desk: Desk
) -> None:
    record(["tg:1"])
    backup = Backup.now()
    sweep()
    assert desk.effects("tg:1") == 1

    backup.restore()
    sweep()

    row, whole = delivery("tg:1"), Installation.objects.get()
    assert desk.effects("tg:1") == 1
    assert (row.status, row.attempt_count) == ("unknown", 0)
    assert row.rewound_at is not None
    assert (whole.epoch, whole.rewound_to) == (2, None)
    assert "the database was restored: it is older than it was: the count of worker" in (
        whole.held_reason
    )
    assert Event.objects.filter(kind="restore_found").count() == 1
    assert Event.objects.get(kind="rewind").delivery_id == row.pk


def test_a_worker_that_runs_on_notices_at_its_next_wave(alerts: Channel, desk: Desk) -> None:
    record(["tg:1"])
    backup = Backup.now()
    worker = Worker("shift", 4)
    worker.work_off(10)
    sent = desk.effects("tg:1")

    backup.restore()
    worker.work_off(10)
    worker.work_off(10)
    worker.end()

    assert (sent, desk.effects("tg:1")) == (1, 1)
    assert delivery("tg:1").status == "unknown"
    assert Installation.objects.get().epoch == 2


def test_a_backup_that_lacks_nothing_is_no_restore(alerts: Channel, desk: Desk) -> None:
    record(["tg:1"])
    sweep()
    backup = Backup.now()

    backup.restore()
    record(["tg:2"], run_id="run-2")
    sweep()

    assert Installation.objects.get().held_at is None
    assert (desk.effects("tg:1"), desk.effects("tg:2")) == (1, 1)


def test_a_restore_that_is_half_done_is_waited_for(alerts: Channel, desk: Desk) -> None:
    """`pg_restore -j` shows the installation long before a million deliveries are there."""
    record(["tg:1"])
    backup = Backup.now()
    sweep()
    backup.restore()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE ledgers_outboxitem DROP CONSTRAINT ledgers_outboxitem_pkey")
    try:
        sweep(seconds=0.5)
        early = Installation.objects.get()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE ledgers_outboxitem ADD PRIMARY KEY (delivery_id)")

    sweep()

    assert (early.epoch, early.held_at) == (1, None)
    assert (Installation.objects.get().epoch, delivery("tg:1").status) == (2, "unknown")
    assert desk.effects("tg:1") == 1


def test_a_worker_of_another_host_joins_what_the_first_has_made_of_it(
    alerts: Channel, desk: Desk, settings: Any, tmp_path: Path
) -> None:
    """Both ran on through the restore. One holds; the other waits until that one vouches."""
    record(["tg:1"])
    backup = Backup.now()
    first, second = Worker("shift", 4), Worker("shift", 4)
    first.work_off(10)
    second.work_off(10)
    here, there = mark.folder(), tmp_path / "another host"
    shutil.copytree(here, there)
    backup.restore()

    first._origin._next = 0.0
    first._try(first._origin.learn)
    first.work_off(10)
    settings.COUNTERFOIL_MARK = there
    alone = looks_again(second)
    settings.COUNTERFOIL_MARK = here
    first._origin._beat()
    settings.COUNTERFOIL_MARK = there
    vouched_for = looks_again(second)

    assert (first._origin.known, alone, vouched_for) == (True, False, True)
    assert Installation.objects.get().epoch == 2
    assert desk.effects("tg:1") == 1


def looks_again(worker: Worker) -> bool:
    """Its beat finds that it is forgotten, and then it looks; whether it knows the database."""
    for _ in range(2):
        worker._origin._next = 0.0
        worker._try(worker._origin.learn)
    return worker._origin.known
