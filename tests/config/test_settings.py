"""Settings: each documented, safe in production, made up only where that is harmless."""

import json
import os
import re
import stat
from pathlib import Path

import environ
import pytest
from django.core.exceptions import ImproperlyConfigured

import manage
from config import databases, secret_key
from config.environment import Environment
from tests.embedded.processes import PROJECT, python

LIMITS = databases.Limits(statement_s=60, idle_transaction_s=30)
NAME = r"(COUNTERFOIL_\w+|SECRET_KEY|DATABASE_URL|EMAIL_URL|DEFAULT_FROM_EMAIL)"


def test_every_setting_is_documented_in_the_example_and_no_other() -> None:
    source = (PROJECT / "config/settings.py").read_text()
    example = (PROJECT / ".env.example").read_text()

    read = set(re.findall(rf'env\.\w+\(\s*"{NAME}"', source))
    documented = set(re.findall(rf"(?m)^#{NAME}=", example))

    assert read == documented


def test_a_secret_key_is_made_once_and_readable_only_by_its_owner(tmp_path: Path) -> None:
    folder = tmp_path / "data"

    first = secret_key.kept_in(folder, allowed=True)
    second = secret_key.kept_in(folder, allowed=True)

    assert len(first) >= 50
    assert first == second
    assert stat.S_IMODE((folder / "secret.key").stat().st_mode) == 0o600
    assert [path.name for path in folder.iterdir()] == ["secret.key"]


def test_of_two_first_starts_both_read_the_same_key(tmp_path: Path) -> None:
    winner = secret_key.kept_in(tmp_path, allowed=True)

    secret_key._write_once(tmp_path / "secret.key", "the slower one's")

    assert secret_key.kept_in(tmp_path, allowed=True) == winner


def test_production_makes_up_no_secret_key(tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY is not set"):
        secret_key.kept_in(tmp_path, allowed=False)

    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("env", "told"),
    [
        (
            {"COUNTERFOIL_MODE": "production"},
            "SECRET_KEY is not set, and COUNTERFOIL_MODE is production. Right would be: a long",
        ),
        (
            {"COUNTERFOIL_MODE": "production", "SECRET_KEY": "x" * 60},
            "COUNTERFOIL_ALLOWED_HOSTS is not set, and COUNTERFOIL_MODE is production.",
        ),
        ({"COUNTERFOIL_MODE": "prod"}, "is 'prod'. Right would be: local or production."),
        (
            {"COUNTERFOIL_CONCURRENCY": "abc"},
            "COUNTERFOIL_CONCURRENCY is 'abc'. Right would be: a whole number from 1 to 1000.",
        ),
        ({"COUNTERFOIL_CONCURRENCY": "9" * 6000}, "COUNTERFOIL_CONCURRENCY is '999"),
        ({"COUNTERFOIL_LOG_LEVEL": "LOUD"}, "DEBUG or INFO or WARNING or ERROR."),
        ({"COUNTERFOIL_DATA": "/proc/x"}, "COUNTERFOIL_DATA is '/proc/x', which cannot be made"),
        ({"COUNTERFOIL_DATA": "manage.py"}, "manage.py', which cannot be made: File exists"),
        ({"DATABASE_URL": "mysql://me:hunter2@db/x"}, "DATABASE_URL begins with 'mysql'."),
        ({"DATABASE_URL": "junk-hunter2"}, "DATABASE_URL is no address. Right would be: postg"),
        ({"DATABASE_URL": "postgres://me:hunter2@db:no/x"}, "DATABASE_URL cannot be taken apart."),
        ({"DATABASE_URL": "postgres://me:hunter2@db/"}, "DATABASE_URL names no database."),
        ({"COUNTERFOIL_CACHE_URL": "junk"}, "COUNTERFOIL_CACHE_URL is no address of a cache."),
        (
            {"COUNTERFOIL_STATEMENT_TIMEOUT_S": "-1"},
            "is '-1'. Right would be: a whole number of seconds from 1 to 86400.",
        ),
        ({"COUNTERFOIL_UNDO_S": "nan"}, "a number of seconds from 0 to 86400."),
        ({"COUNTERFOIL_DEBUG": "perhaps"}, "COUNTERFOIL_DEBUG is 'perhaps'. Right would be: on"),
        ({"COUNTERFOIL_ENV_FILE": "/nope"}, "COUNTERFOIL_ENV_FILE is '/nope', which cannot be"),
        ({"COUNTERFOIL_ENV_FILE": "/"}, "COUNTERFOIL_ENV_FILE is '/', which cannot be read"),
    ],
)
def test_a_wrong_setting_stops_every_command_with_one_line_and_exit_code_2(
    tmp_path: Path, env: dict[str, str], told: str
) -> None:
    process = python(tmp_path, "manage.py", "list_unknown", "--json", env=env)
    out, err = process.communicate()

    assert process.returncode == 2
    assert told in err
    assert err.count("\n") == 1
    assert json.loads(out) == {"error": err.strip(), "field": _first_word(err)}
    assert "hunter2" not in out + err


def _first_word(text: str) -> str:
    return text.partition(" ")[0]


def test_an_empty_setting_counts_as_unset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COUNTERFOIL_ENV_FILE", os.devnull)
    for name in ("A_S", "B", "C", "D"):
        monkeypatch.setenv(name, "")

    read = Environment(tmp_path / "none")

    assert read.whole("A_S", 7, least=1, most=9) == 7
    assert read.flag("B", default=True) is True
    assert read.names("C", ["x"]) == ["x"]
    assert read.database("D") == read.cache("D") == {}


def test_a_file_of_settings_is_read_and_the_environment_wins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "settings"
    file.write_text("IN_FILE=1.5\nIN_BOTH=file\n")
    monkeypatch.setenv("COUNTERFOIL_ENV_FILE", str(file))
    monkeypatch.setenv("IN_BOTH", "environment")
    monkeypatch.setenv("IN_FILE", "to be forgotten afterwards")
    monkeypatch.delenv("IN_FILE")

    read = Environment(tmp_path / "none")

    assert read.number("IN_FILE", 0, least=0, most=2) == 1.5
    assert read.text("IN_BOTH") == "environment"


def test_a_python_without_the_packages_is_told_which_one_has_them(tmp_path: Path) -> None:
    process = python(tmp_path, "-S", "manage.py", "deliver")  # -S: without site-packages
    out, err = process.communicate()

    assert (process.returncode, out) == (2, "")
    assert ".venv/bin/python manage.py" in err
    assert err.count("\n") == 1


def test_ctrl_c_while_modules_are_imported_leaves_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("django.core.management.execute_from_command_line", interrupted)

    assert manage.main() == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("url", "host", "name"),
    [
        ("postgres://me:pw@db.example:5433/kept", "db.example", "kept"),
        ("postgres:///kept?host=/some/folder", "/some/folder", "kept"),
        ("postgres:////some/folder/kept", "/some/folder", "kept"),
    ],
)
def test_a_database_address_ends_up_where_all_tools_look(url: str, host: str, name: str) -> None:
    entry = databases.from_url(environ.Env.db_url_config(url), LIMITS)

    assert entry["ENGINE"] == "django.db.backends.postgresql"
    assert (entry["HOST"], entry["NAME"]) == (host, name)
    assert "host" not in entry["OPTIONS"]


def test_every_connection_has_limits_and_checks_and_no_pool() -> None:
    for entry in (
        databases.embedded(Path("/data"), LIMITS, fsync=True),
        databases.from_url(environ.Env.db_url_config("postgres://db.example/kept"), LIMITS),
    ):
        options = entry["OPTIONS"]

        assert "statement_timeout=60s" in options["options"]
        assert "idle_in_transaction_session_timeout=30s" in options["options"]
        assert options["keepalives"] == 1
        assert "pool" not in options
        assert entry["CONN_HEALTH_CHECKS"] is True


def test_options_in_the_address_win_over_ours() -> None:
    url = "postgres://db.example/kept?sslmode=require&connect_timeout=3"

    options = databases.from_url(environ.Env.db_url_config(url), LIMITS)["OPTIONS"]

    assert options["sslmode"] == "require"
    assert options["connect_timeout"] == 3


def test_the_imports_contract_knows_every_package() -> None:
    """A new top-level package must be given a place in the one-way order."""
    layers = re.search(r"(?m)^layers = \[(.*)\]$", (PROJECT / "pyproject.toml").read_text())
    assert layers is not None

    packages = {path.parent.name for path in PROJECT.glob("*/__init__.py")}

    assert packages == set(re.findall(r"\w+", layers[1]))
