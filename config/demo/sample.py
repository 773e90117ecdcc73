"""The demo's database: marked as a sample, thrown away by the next demo, and never a real one.

The mark is a setting of the database itself, which no session can fake: a copy or a backup that is
restored elsewhere does not carry it.
"""

from typing import Any

import psycopg
from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from psycopg import sql

from ledgers.management.command import MisuseError
from ledgers.models import Channel, Run

_MARK = "counterfoil.sample"
# What a demo from before there was a mark has left behind.
EARLIER = frozenset({"demo-digest"})
_IS_MARKED = """
SELECT EXISTS (
    SELECT 1 FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase
    WHERE d.datname = current_database() AND s.setrole = 0 AND %s = ANY (s.setconfig))"""


def is_sample() -> bool:
    """Whether the default database carries the demo's mark."""
    with connection.cursor() as cursor:
        cursor.execute(_IS_MARKED, [f"{_MARK}=on"])
        return bool(cursor.fetchone()[0])


def refuse_unless_sample() -> None:
    """Sample data, and a clock that is put back, are for a sample's ledgers alone.

    Raises:
        MisuseError: the database does not carry the mark.
    """
    if settings.DATABASE_URL or not is_sample():
        raise MisuseError(
            "These ledgers are not the demo's: they do not carry its mark. `make demo` makes some,"
            " in .data/demo."
        )


def is_used() -> bool:
    """Whether a demo has begun in it, or has left anything.

    Raises:
        MisuseError: yes, and by no demo: these ledgers may be real.
    """
    if is_sample():
        return True
    if not MigrationRecorder(connection).has_table() or not _has_ledgers():
        return False
    strange = Run.objects.exclude(agent__in=EARLIER).values_list("run_id", flat=True)
    others = Channel.objects.exclude(slug__startswith="demo-").values_list("slug", flat=True)
    if found := [*strange[:1], *others[:1]]:
        raise MisuseError(
            f"These ledgers hold {found[0]!r}, which no demo made, so they are not thrown away."
            " Run it as `manage.py demo`, which takes .data/demo, or name another COUNTERFOIL_DATA."
        )
    return Run.objects.exists() or Channel.objects.exists()


def _has_ledgers() -> bool:
    return "ledgers_channel" in connection.introspection.table_names()


def mark() -> None:
    """Let this database be known as a sample; its ledgers are empty."""
    with connection.cursor() as cursor:
        cursor.execute(_alter("SET {} = 'on'"))


def unmark() -> None:
    """Take the mark off again."""
    with connection.cursor() as cursor:
        cursor.execute(_alter("RESET {}"))


def _alter(how: str) -> sql.Composed:
    begun = sql.SQL("ALTER DATABASE {} ").format(sql.Identifier(connection.settings_dict["NAME"]))
    return begun + sql.SQL(how).format(sql.Identifier(*_MARK.split(".")))


def throw_away() -> None:
    """Drop the database and make it anew, empty. Append-only ledgers cannot be emptied."""
    params: dict[str, Any] = connection.get_connection_params()
    name = sql.Identifier(params["dbname"])
    connection.close()
    with psycopg.connect(**{**params, "dbname": "postgres"}, autocommit=True) as server:
        server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
        server.execute(sql.SQL("CREATE DATABASE {}").format(name))
