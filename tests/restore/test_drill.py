"""The restore drill: what it claims is seen at the recipient, and a wrong restore is told."""

import json
import shutil
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection

from config.embedded.base import cluster_of
from config.recovery import drill, plot, scratch
from config.recovery.backup import back_up
from config.recovery.copies import Copy
from config.recovery.errors import RecoveryError
from config.recovery.report import Counted, Report
from ledgers.models import Channel
from tests.commands.shell import Typed, typed
from tests.factories import record, sweep

pytestmark = pytest.mark.django_db(transaction=True)


def databases() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [_own()])
        return {name for (name,) in cursor.fetchall()}


def _own() -> str:
    return scratch.Scratch(connection, Path(), "")._prefix


def claims(answer: Typed) -> dict[str, bool]:
    return {claim["text"]: claim["holds"] for claim in answer.json["claims"]}


# --- Played from end to end


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_restore_repeats_nothing_and_leaves_nothing_behind() -> None:
    played = typed("restore_drill", "--json")

    assert played.code == 0, played.out
    assert len(claims(played)) > 8
    counted = {one["to"]: one for one in played.json["counted"]}
    assert all(one["effects"] == 1 for one in counted.values())
    assert counted["keyed:between"]["submissions"] == 2  # the same key, recognised
    assert counted["blind:between"]["submissions"] == 1
    assert databases() == set()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_provider_that_forgets_its_keys_is_told_as_a_repeated_effect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The drill counts at the recipient, and does not believe the ledger."""
    usual = drill.Drill._teach

    def forgetful(self: drill.Drill, part: plot.Part) -> None:
        usual(self, part)
        self.recipient.behave(part.to, dedupe_s=0)

    monkeypatch.setattr(drill.Drill, "_teach", forgetful)

    played = typed("restore_drill", "--json")

    assert played.code == 1
    assert claims(played)["nobody got anything twice"] is False


# --- One given backup


@pytest.fixture
def file(tmp_path: Path, alerts: Channel) -> Path:
    """A backup with something sent and something owed."""
    record(["tg:1"])
    sweep()
    record(["tg:2"], run_id="run-2")
    return back_up(tmp_path / "given.dump").file


@pytest.mark.slow
def test_a_given_backup_is_restored_checked_and_would_be_held(file: Path) -> None:
    checked = typed("restore_drill", "--backup", str(file))

    assert checked.code == 0, checked.out
    assert "its ledgers can be read: 1 delivered, 1 pending" in checked.out
    assert "a worker would send nothing: " in checked.out
    assert "Nothing was sent." in checked.out
    assert databases() == set()


@pytest.mark.slow
@pytest.mark.unverified_ledgers
def test_a_backup_of_a_broken_ledger_is_told(tmp_path: Path, alerts: Channel) -> None:
    record(["tg:1"])
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("DELETE FROM ledgers_event WHERE delivery_id IS NOT NULL")
        cursor.execute("SET session_replication_role = origin")
    broken = back_up(tmp_path / "broken.dump").file

    checked = typed("restore_drill", "--backup", str(broken), "--json")

    assert checked.code == 1
    assert claims(checked)["every invariant of its ledgers holds"] is False


def test_half_a_backup_is_refused_and_nothing_is_left(file: Path, tmp_path: Path) -> None:
    half = tmp_path / "half.dump"
    half.write_bytes(file.read_bytes()[: file.stat().st_size // 2])

    checked = typed("restore_drill", "--backup", str(half), "--json")

    assert checked.code == 1
    assert "pg_restore ended with" in checked.json["error"]
    assert databases() == set()


@pytest.mark.parametrize(("name", "problem"), [("none", "cannot be read"), ("text", "no backup")])
def test_what_is_no_backup_is_a_misuse(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "text").write_text("SELECT 1;")

    refused = typed("restore_drill", "--backup", str(tmp_path / name))

    assert refused.code == 2
    assert problem in refused.err


# --- The place


def test_what_a_killed_drill_left_is_dropped_by_the_next() -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {_own()}0815")

    with scratch.scratch():
        assert databases() == set()


def test_two_drills_at_once_would_drop_each_others_databases_so_one_is_refused() -> None:
    conninfo = cluster_of(connection.settings_dict).conninfo(connection.settings_dict["NAME"])
    with psycopg.connect(conninfo, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [scratch.LOCK])

        with pytest.raises(RecoveryError, match="Another drill runs"), scratch.scratch():
            pass


def test_its_folder_goes_with_it() -> None:
    with scratch.scratch() as place:
        folder = place.folder
        (folder / "left").write_text("x")

    assert not folder.exists()


def test_a_role_that_may_make_no_databases_gets_a_server_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE no_maker")
        cursor.execute("SET ROLE no_maker")
    may = scratch._may_create(connection)
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")
        cursor.execute("DROP ROLE no_maker")
    monkeypatch.setattr(scratch, "_may_create", lambda _: may)

    with scratch.scratch() as place:
        name = place.new_name()
        place.create(name)

        assert place.where == "an embedded server of its own"
        assert name not in databases()
        assert str(place.folder) in place.connection.get_connection_params()["host"]


# --- What it says


def test_a_claim_that_does_not_hold_is_marked_and_counted() -> None:
    report = Report("here")
    report.claim("all is well", holds=True)
    report.claim("nobody got anything twice", False, "keyed:between")
    report.counted.append(Counted("keyed:between", "sent", "drill-keyed", 2, 2, "delivered"))

    text = report.as_text()

    assert "ok   all is well" in text
    assert "NOT  nobody got anything twice: keyed:between" in text
    assert "1 of 2 claims do NOT hold. Do not trust a restore." in text
    assert json.loads(json.dumps(report.as_json()))["good"] is False


def test_a_process_of_the_copy_that_fails_is_told_with_its_log(tmp_path: Path) -> None:
    with scratch.scratch() as place:
        copy = place.copy(place.new_name(), "nowhere")  # a database that is not there
        with copy.hand() as hand, pytest.raises(RecoveryError, match="does not exist"):
            hand("account")
        shutil.rmtree(copy.data)


def test_a_copy_gets_nothing_of_this_installations_settings(monkeypatch: Any) -> None:
    monkeypatch.setenv("COUNTERFOIL_ALARM_WEBHOOK", "https://example.com/hook")
    monkeypatch.setenv("EMAIL_URL", "smtp://mail.example.com")

    given = Copy("postgres:///x", Path("/x")).environment()

    assert "COUNTERFOIL_ALARM_WEBHOOK" not in given
    assert "EMAIL_URL" not in given
    assert given["DATABASE_URL"] == "postgres:///x"
