"""Settings: each documented, safe in production, made up only where that is harmless."""

import re
import stat
from pathlib import Path

import environ
import pytest
from django.core.exceptions import ImproperlyConfigured

from config import databases, secret_key
from tests.embedded.processes import PROJECT, python

LIMITS = databases.Limits(statement_s=60, idle_transaction_s=30)
NAME = r"(COUNTERFOIL_\w+|SECRET_KEY|DATABASE_URL)"


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
        ({"COUNTERFOIL_MODE": "production"}, "SECRET_KEY is not set"),
        ({"COUNTERFOIL_MODE": "staging"}, "it must be local or production"),
    ],
)
def test_a_wrong_setting_stops_the_start_with_a_sentence(
    tmp_path: Path, env: dict[str, str], told: str
) -> None:
    process = python(tmp_path, "manage.py", "check", env=env)

    assert told in process.communicate()[1]
    assert process.returncode != 0


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
