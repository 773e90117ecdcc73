"""A backup is restored into an empty database only, all of it or nothing; old schemas as well."""

from pathlib import Path

import pytest

from config.recovery.backup import back_up
from config.recovery.copies import Copy
from config.recovery.scratch import Scratch
from ledgers.models import Channel, Delivery
from tests.commands.shell import typed
from tests.factories import record, sweep

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def file(tmp_path: Path, alerts: Channel) -> Path:
    record(["tg:1001"])
    sweep()
    return back_up(tmp_path / "one.dump").file


@pytest.fixture
def empty(place: Scratch) -> Copy:
    """An installation whose database is new."""
    name = place.new_name()
    place.create(name)
    return place.copy(name, "empty")


def test_an_empty_database_gets_all_of_it_and_is_told_what_comes_next(
    file: Path, empty: Copy
) -> None:
    done = empty.manage("restore", str(file))

    assert done.returncode == 0, done.stdout
    assert "deliveries      1" in done.stdout
    assert "start one worker" in done.stdout
    with empty.hand() as hand:
        assert [row["status"] for row in hand("account")["deliveries"]] == ["delivered"]


def test_a_ledger_is_never_overwritten(file: Path) -> None:
    record(["tg:1002"], run_id="run-2")

    refused = typed("restore", str(file))

    assert refused.code == 1
    assert "is not empty" in refused.err
    assert "only trace of what was sent" in refused.err
    assert Delivery.objects.count() == 2


@pytest.mark.slow
def test_half_a_backup_leaves_the_database_empty(file: Path, empty: Copy) -> None:
    half = file.with_suffix(".half")
    half.write_bytes(file.read_bytes()[: file.stat().st_size // 2])

    done = empty.manage("restore", str(half))

    assert done.returncode == 1
    assert empty.manage("restore", str(file)).returncode == 0


def test_what_is_no_backup_is_a_misuse(tmp_path: Path) -> None:
    other = tmp_path / "other.sql"
    other.write_text("SELECT 1;")

    refused = typed("restore", str(other))

    assert refused.code == 2
    assert "no backup. Right would be: a file of manage.py backup" in refused.err
