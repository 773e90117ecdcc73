"""A backup is one file: whole, private, of one moment, and never over another one."""

import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from config.embedded import tools as embedded
from config.recovery import backup
from config.recovery import tools as tools_module
from config.recovery.errors import RecoveryError
from config.recovery.scratch import Scratch
from config.recovery.tools import Tools, tools_for
from ledgers.models import Attempt, Channel, Installation
from tests.commands.shell import typed
from tests.factories import record, sweep

committed = pytest.mark.django_db(transaction=True)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "one.dump"


@committed
def test_what_is_restored_is_what_was_there(place: Scratch, file: Path, alerts: Channel) -> None:
    record(["tg:1001", "tg:1002"])
    sweep()
    record(["tg:1003"], run_id="run-2")

    made = typed("backup", "--out", str(file), "--json").json
    copy = place.new_name()
    place.create(copy)
    tools_for(connection).restore(file, copy)

    with place.copy(copy, "copy").hand() as hand:
        found, broken = hand("account"), hand("sums")["broken"]
    assert [row["status"] for row in found["deliveries"]] == ["delivered", "delivered", "pending"]
    assert broken == []
    assert made["newest_attempt"] == Attempt.objects.latest("pk").pk
    assert made["namespace"] == found["namespace"] == str(Installation.objects.get().namespace)
    assert (made["epoch"], made["deliveries"]) == (1, 3)


@committed
def test_it_says_what_is_not_in_it_and_how_to_know_it_again(file: Path) -> None:
    said = typed("backup", "--out", str(file))

    told = subprocess.run(["sha256sum", file], capture_output=True, text=True, check=True).stdout
    assert said.code == 0
    assert told.split()[0] in said.out
    assert "Not in it: SECRET_KEY" in said.out


@committed
def test_only_its_maker_may_read_it(file: Path) -> None:
    typed("backup", "--out", str(file))

    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@committed
def test_it_is_never_written_over_another(file: Path) -> None:
    file.write_text("the only one of Monday")

    said = typed("backup", "--out", str(file))

    assert said.code == 1
    assert "never overwritten" in said.err
    assert file.read_text() == "the only one of Monday"


@committed
def test_nor_over_one_that_was_made_meanwhile(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tools, "dump", lambda *_: file.write_text("quicker"))

    with pytest.raises(RecoveryError, match="meanwhile"):
        backup.back_up(file)

    assert file.read_text() == "quicker"
    assert list(file.parent.iterdir()) == [file]


@committed
def test_one_that_fails_leaves_nothing_and_says_what_the_program_said(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Tools.dump
    monkeypatch.setattr(Tools, "dump", lambda self, into, _: usual(self, into, "no-such-snapshot"))

    said = typed("backup", "--out", str(file))

    assert said.code == 1
    assert "pg_dump ended with 1 and said:" in said.err
    assert "no-such-snapshot" in said.err
    assert list(file.parent.iterdir()) == []


@committed
def test_a_place_that_cannot_be_written_is_named() -> None:
    said = typed("backup", "--out", "/proc/no/such.dump")

    assert said.code == 1
    assert "/proc/no/such.dump cannot be written" in said.err


@committed
def test_without_a_name_it_goes_into_the_data_folder(settings: Any, tmp_path: Path) -> None:
    settings.COUNTERFOIL_DATA, settings.COUNTERFOIL_ENVIRONMENT = tmp_path, "stage/2"

    made = Path(typed("backup", "--json").json["file"])

    assert made.parent == tmp_path / "backups"
    assert made.name.startswith("counterfoil-stage-2-2")
    assert stat.S_IMODE(made.parent.stat().st_mode) == 0o700


@pytest.mark.django_db
def test_a_programs_arguments_hold_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    """They can be read by everybody on the machine."""
    params = {**connection.get_connection_params(), "password": "swordfish"}
    monkeypatch.setattr(connection, "get_connection_params", lambda: params)

    tools = tools_for(connection)

    assert "swordfish" not in tools.conninfo("other")
    assert tools.password == "swordfish"


def _found(monkeypatch: pytest.MonkeyPatch, majors: dict[str, int], server: int) -> Path:
    """Which folder is taken for a server of this version, where the folders have these."""
    monkeypatch.setattr(tools_module, "_on_path", lambda: Path("/path"))
    monkeypatch.setattr(embedded, "binaries", lambda: Path("/own"))
    monkeypatch.setattr(tools_module, "_major_of", lambda f: majors.get(str(f.parent), 0))
    monkeypatch.setattr(tools_module, "major_version", lambda _: server)
    monkeypatch.setattr(tools_module, "EmbeddedWrapper", type("Other", (), {}))
    return tools_module._folder_for(connection)


@pytest.mark.parametrize(
    ("on_path", "server", "taken"),
    [(16, 16, "/path"), (17, 16, "/path"), (15, 16, "/own"), (0, 18, "/own")],
)
def test_programs_older_than_the_server_are_not_used(
    monkeypatch: pytest.MonkeyPatch, on_path: int, server: int, taken: str
) -> None:
    assert str(_found(monkeypatch, {"/path": on_path, "/own": 18}, server)) == taken


def test_where_all_are_too_old_it_says_which_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecoveryError, match="postgresql-client-19"):
        _found(monkeypatch, {"/path": 15, "/own": 18}, 19)


def test_a_programs_version_is_read_from_what_it_says() -> None:
    assert tools_module._major_of(embedded.binaries() / "pg_dump") == 18
    assert tools_module._major_of(Path("/no/such/program")) == 0
