"""The Django backend: everything Django does with a database works on the embedded one."""

from pathlib import Path

import psycopg
import pytest
from django.db import connection

from config.embedded import launcher
from config.embedded.base import DatabaseWrapper
from config.embedded.cluster import Cluster
from tests.embedded.processes import ended, python

CREATION = """
import django
django.setup()
from django.db import connection
creation = connection.creation
creation._create_test_db(verbosity=0, autoclobber=True, keepdb=False)
creation.connection.settings_dict["NAME"] = "test_counterfoil"
creation.clone_test_db("2", verbosity=0)
with connection._nodb_cursor() as cursor:
    cursor.execute("SELECT datname FROM pg_database ORDER BY 1")
    print(*(name for (name,) in cursor.fetchall()))
creation.destroy_test_db("counterfoil", verbosity=0, suffix="2")
creation._destroy_test_db("test_counterfoil", verbosity=0)
"""

MISSING = """
import django
django.setup()
from django.db import connection, OperationalError
connection.settings_dict["NAME"] = "somebody_elses"
try:
    connection.ensure_connection()
except OperationalError as error:
    print("does not exist" in str(error))
"""


def test_the_shell_opens_on_the_main_database_made_on_demand(cluster: Cluster) -> None:
    shell = python(
        cluster.folder, "manage.py", "dbshell", "--", "-Atc", "SELECT current_database()"
    )

    assert ended(shell) == "counterfoil\n"


def test_the_cache_table_can_be_made(cluster: Cluster) -> None:
    env = {"COUNTERFOIL_CACHE_URL": "dbcache://kept"}
    ended(python(cluster.folder, "manage.py", "createcachetable", env=env))

    table = python(
        cluster.folder, "manage.py", "dbshell", "--", "-Atc", "SELECT count(*) FROM kept"
    )

    assert ended(table) == "0\n"


def test_test_databases_are_made_cloned_and_destroyed(cluster: Cluster) -> None:
    said = ended(python(cluster.folder, "-c", CREATION))

    assert said.split() == [
        "postgres",
        "template0",
        "template1",
        "test_counterfoil",
        "test_counterfoil_2",
    ]


def test_only_the_main_database_is_made_on_demand(cluster: Cluster) -> None:
    assert ended(python(cluster.folder, "-c", MISSING)) == "True\n"


def test_other_tools_take_their_arguments_from_the_connection(running: Cluster) -> None:
    params = _wrapper(running).get_connection_params()

    assert (params["host"], params["port"]) == (str(running.socket_folder), 5432)
    assert (params["user"], params["dbname"]) == ("counterfoil", "postgres")


def test_a_server_that_cannot_be_started_is_an_operational_error(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits out an outage of the database waits out this one too."""
    monkeypatch.setattr(launcher, "START_LIMIT_S", 0.5)
    (cluster.pgdata / "postgresql.conf").write_text("no_such_setting = 1\n")

    with pytest.raises(psycopg.OperationalError, match="did not answer within"):
        _wrapper(cluster)._ensure_running()


def test_folders_are_started_and_stopped_without_django(cluster: Cluster) -> None:
    words = ["-m", "config.embedded"]
    folder = str(cluster.folder)

    started = ended(python(cluster.folder, *words, "start", folder))
    status = ended(python(cluster.folder, *words, "status", folder))
    stopped = ended(python(cluster.folder, *words, "stop", folder))
    again = ended(python(cluster.folder, *words, "stop", folder))

    assert started == status
    assert status.startswith(f"{folder}: PostgreSQL runs as process ")
    assert stopped == f"{folder}: PostgreSQL stopped\n"
    assert again == f"{folder}: no PostgreSQL was running\n"


def test_a_failure_to_start_is_told_in_words_and_by_the_exit_code(tmp_path: Path) -> None:
    process = python(tmp_path, "-m", "config.embedded", "start", str(tmp_path / "a$b"))

    _, told = process.communicate()

    assert process.returncode == 1
    assert told.startswith("The embedded PostgreSQL cannot live in")


def test_without_a_folder_there_is_nothing_to_do(tmp_path: Path) -> None:
    said = ended(python(tmp_path, "-m", "config.embedded", "stop"))

    assert said == "no data folder: nothing to do\n"


def _shell(cluster: Cluster, statement: str) -> str:
    return ended(python(cluster.folder, "manage.py", "dbshell", "--", "-Atc", statement))


def _wrapper(cluster: Cluster) -> DatabaseWrapper:
    settings = {**connection.settings_dict, "NAME": "postgres", "DATA_FOLDER": cluster.folder}
    return DatabaseWrapper(settings, alias="other")
