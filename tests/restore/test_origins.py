"""Where a database comes from: copies of every kind, hosts without a mark, and what people say."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from psycopg import sql

from delivery import lifting, mark, origin, restoring, switches
from delivery.errors import MarkError, SwitchError
from delivery.worker import Worker
from ledgers import instance
from ledgers.models import Channel, Installation
from tests.database import _server
from tests.delivery.senders import Desk
from tests.factories import delivery, make_due, record, sweep
from tests.restore.backups import Backup
from tests.restore.scenes import forget_mark, whole

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is waited for who might vouch: no other worker is there."""
    monkeypatch.setattr(origin, "WAIT_S", 0.0)


@contextmanager
def copied() -> Iterator[str]:
    """Within the block the connection leads to a `CREATE DATABASE … TEMPLATE` copy."""
    name = connection.settings_dict["NAME"]
    copy = f"{name}_copy"
    connection.close()
    with _server() as server:
        server.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                sql.Identifier(copy), sql.Identifier(name)
            )
        )
    connection.settings_dict["NAME"] = copy
    try:
        yield copy
    finally:
        connection.close()
        connection.settings_dict["NAME"] = name
        with _server() as server:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(copy)))


def the_mark() -> Path:
    return mark.path_of(Installation.objects.get().namespace, instance.present())


def held_for() -> str:
    return Installation.objects.get().held_reason


def test_a_copy_by_template_shares_system_and_timeline_and_is_another_instance_all_the_same(
    alerts: Channel, desk: Desk
) -> None:
    """Fine print: instances are told apart by system, timeline, database oid and name."""
    here = instance.present()
    record(["tg:0"], run_id="run-0")
    sweep()
    record(["tg:1"])

    with copied() as name:
        there = instance.present()
        sweep()
        status, why, epoch = delivery("tg:1").status, held_for(), Installation.objects.get().epoch

    assert (there.system, there.timeline) == (here.system, here.timeline)
    assert (there.oid != here.oid, there.name) == (True, name)
    assert (desk.effects("tg:1"), status, epoch) == (0, "unknown", 2)
    assert "it is another instance" in why
    assert str(here.oid) in why
    assert str(there.oid) in why
    sweep()
    assert (desk.effects("tg:1"), delivery("tg:1").status) == (1, "delivered")


def test_a_copy_is_noticed_by_a_host_that_has_no_mark(alerts: Channel, desk: Desk) -> None:
    record(["tg:0"], run_id="run-0")
    sweep()
    record(["tg:1"])

    with copied():
        forget_mark()
        sweep()
        why = held_for()

    assert desk.effects("tg:1") == 0
    assert "it is another instance" in why


def test_a_ledger_that_no_worker_knows_is_held_until_a_person_says_which_it_is(
    alerts: Channel, desk: Desk
) -> None:
    record(["tg:1"])
    forget_mark()

    sweep()
    whole = Installation.objects.get()
    sent, status = desk.effects("tg:1"), delivery("tg:1").status
    with pytest.raises(SwitchError, match="where this database comes from"):
        switches.release(whole.held_at, "let it go", "ann")
    lifting.confirm(whole.held_at, "the host is new", "ann")
    sweep()

    assert (sent, status, whole.epoch) == (0, "pending", 1)
    assert "this host has no mark of it" in whole.held_reason
    assert (desk.effects("tg:1"), held_for()) == (1, "")


def test_what_a_person_declares_restored_is_rewound(alerts: Channel, desk: Desk) -> None:
    record(["tg:1"])
    forget_mark()
    sweep()

    lifting.declare_restored("from the dump of Monday", "ann")
    sweep()

    assert (desk.effects("tg:1"), delivery("tg:1").status) == (0, "unknown")
    assert "ann says so: from the dump of Monday" in held_for()


def test_an_empty_ledger_simply_begins(alerts: Channel, desk: Desk) -> None:
    forget_mark()
    sweep()

    record(["tg:1"])
    sweep()

    assert (desk.effects("tg:1"), held_for()) == (1, "")


def test_a_worker_that_knows_the_database_vouches_for_it(
    alerts: Channel, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(origin, "WAIT_S", 10.0)
    old, new = Worker("shift", 4), Worker("shift", 4)
    old.work_off(1)
    record(["tg:1"])
    forget_mark()

    new._origin.learn()
    before = new._origin.known
    old._origin._beat()
    new._origin._next = 0.0
    new._origin.learn()

    assert (before, new._origin.known, held_for()) == (False, True, "")


def test_a_worker_that_does_not_know_it_vouches_for_nobody(alerts: Channel, desk: Desk) -> None:
    record(["tg:1"])
    forget_mark()
    first, second = Worker("shift", 4), Worker("shift", 4)

    first.work_off(1)
    second.work_off(1)

    assert (first._origin.known, second._origin.known) == (False, False)
    assert desk.effects("tg:1") == 0


@pytest.mark.parametrize("what", ["host", "folder"])
def test_a_mark_that_was_copied_with_its_host_or_its_folder_proves_nothing(
    alerts: Channel, desk: Desk, settings: Any, tmp_path: Path, what: str
) -> None:
    """Clone of a machine, or a data folder put back: its old mark came along with the old data."""
    record(["tg:0"], run_id="run-0")
    sweep()
    record(["tg:1"])
    if what == "host":
        settings.COUNTERFOIL_HOST = "a copy of it"
    else:
        shutil.copytree(mark.folder(), tmp_path / "copy")
        settings.COUNTERFOIL_MARK = tmp_path / "copy"

    sweep()
    whole = Installation.objects.get()

    assert desk.effects("tg:1") == 0
    assert "this host's mark is not its own" in whole.held_reason
    lifting.confirm(whole.held_at, "it was moved", "ann")
    sweep()
    assert desk.effects("tg:1") == 1


def test_a_damaged_mark_counts_as_none_and_says_so(
    alerts: Channel, desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    record(["tg:1"])
    path = the_mark()
    path.write_text('{"epoch": 1')

    sweep()

    assert desk.effects("tg:1") == 0
    assert f"The mark {path} is damaged" in caplog.text
    assert "this host has no mark of it" in held_for()


def test_where_no_mark_can_be_written_nothing_is_sent_and_nothing_is_in_doubt(
    alerts: Channel, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(["tg:1"])
    worker = Worker("shift", 4)
    worker._origin.learn()
    real = mark._write

    def full(*_: Any, **__: Any) -> None:
        raise MarkError("No space left on device")

    monkeypatch.setattr(mark, "_write", full)
    worker.work_off(1)
    refused = ([*desk.received], delivery("tg:1").status)
    monkeypatch.setattr(mark, "_write", real)
    make_due()
    sweep()

    assert refused == ([], "pending")
    assert desk.effects("tg:1") == 1


def test_migrating_where_no_mark_can_be_kept_is_no_failure_and_says_so(
    transactional_db: None, settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As in a container that only migrates: workers look anew, and its ledger is empty."""
    (tmp_path / "file").touch()
    settings.COUNTERFOIL_MARK = tmp_path / "file" / "mark"

    origin.note_birth()

    assert "Let COUNTERFOIL_MARK name a folder that this user may write" in caplog.text


def test_a_worker_that_can_keep_no_mark_sends_nothing_and_says_what_would_be_right(
    alerts: Channel, desk: Desk, settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    record(["tg:1"])
    (tmp_path / "file").touch()
    settings.COUNTERFOIL_MARK = tmp_path / "file" / "mark"

    sweep()

    assert desk.effects("tg:1") == 0
    assert caplog.text.count("Let COUNTERFOIL_MARK name a folder that this user may write") == 1
    assert held_for() == ""


def test_two_workers_that_notice_at_once_hold_once(alerts: Channel, desk: Desk) -> None:
    record(["tg:1"])
    backup = Backup.now()
    sweep()
    backup.restore()
    epoch, now = Installation.objects.get().epoch, instance.present()

    first = restoring.hold_restored("it is older", epoch, now, "one")
    second = restoring.hold_restored("it is older", epoch, now, "two")

    assert (first, second, Installation.objects.get().epoch) == (True, False, 2)


def test_a_kill_between_the_hold_and_the_rewinding_is_made_up_for(
    alerts: Channel, desk: Desk
) -> None:
    record(["tg:1"])
    epoch = Installation.objects.get().epoch
    restoring.hold_restored("it is older", epoch, instance.present(), "killed right after")
    before = delivery("tg:1").status
    held_at = Installation.objects.get().held_at
    with pytest.raises(SwitchError, match="Not all that was open is reckoned with"):
        lifting.lift(held_at, "go on", "ann")

    lifting_worker = sweep()

    assert lifting_worker.settled == 0
    assert (before, delivery("tg:1").status, desk.effects("tg:1")) == ("pending", "unknown", 0)
    assert Installation.objects.get().rewound_to is None


def test_a_mark_names_only_the_workers_that_are_there(alerts: Channel) -> None:
    """Shifts come by the second, each under a name of its own."""
    for _ in range(5):
        sweep()
    two = [Worker("shift", 1), Worker("shift", 1)]
    for one in two:
        one._origin.learn()
    kept = mark.read(whole().namespace, instance.present())

    assert kept is not None
    assert set(kept.counts) <= {one.who.name for one in two}
    assert two[1].who.name in kept.counts


def test_the_mark_is_private_and_beside_the_data(alerts: Channel) -> None:
    sweep()

    path = the_mark()

    assert path.stat().st_mode & 0o777 == 0o600
    assert mark.folder().is_relative_to(settings.COUNTERFOIL_DATA)


def test_an_empty_backup_is_no_new_ledger_where_this_host_has_worked_in_it(
    alerts: Channel, desk: Desk
) -> None:
    """A dump of before the first worker came: agents that begin anew would have all sent again."""
    with copied():
        sweep()
        record(["tg:1"])
        sweep()

    with copied():
        sweep()
        record(["tg:1"])
        sweep()
        status, why = delivery("tg:1").status, held_for()

    assert (desk.effects("tg:1"), status) == (1, "unknown")
    assert "nothing is recorded in it, and this host knew database" in why


def test_a_frozen_process_that_has_the_lock_of_the_marks_stops_no_other_from_ending(
    alerts: Channel, desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(mark, "PATIENCE_S", 0.05)
    record(["tg:1"])
    with (mark.folder() / "lock").open() as frozen:
        fcntl.flock(frozen, fcntl.LOCK_EX)
        sweep(seconds=1)
        held_back = desk.effects("tg:1")

    sweep()

    assert "A worker that stands still holds" in caplog.text
    assert (held_back, desk.effects("tg:1")) == (0, 1)
