"""Databases that a drill makes, uses and drops, and never the real one.

They are on this installation's own server where its role may make databases, and otherwise on an
embedded server in a temporary folder.
"""

import hashlib
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler
from psycopg import sql

from config import databases
from config.embedded import launcher
from config.embedded.base import cluster_of
from config.recovery.copies import Copy, url_of
from config.recovery.errors import RecoveryError
from config.recovery.tools import Tools, tools_for

PREFIX = "counterfoil_drill_"
LOCK = 0x0C0F_D811  # one drill at a time per database, so that what bears its prefix is nobody's


@dataclass(slots=True)
class Scratch:
    """A server on which databases may be made, and a folder for everything else."""

    connection: BaseDatabaseWrapper
    folder: Path
    where: str
    _made: list[str] = field(default_factory=list)

    @property
    def tools(self) -> Tools:
        return tools_for(self.connection)

    def new_name(self) -> str:
        """The name of a database that does not exist yet."""
        return f"{self._prefix}{secrets.token_hex(4)}"

    def create(self, name: str) -> None:
        """An empty database of this name; dropped first if it is one of ours."""
        self._run("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)
        self._run("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'", name)
        self._made.append(name)

    def copy(self, name: str, data: str) -> Copy:
        """An installation on the database of this name, with a data folder of this name."""
        return Copy(url_of(self.connection, name, settings.DATABASE_URL), self.folder / data)

    def sweep(self) -> None:
        """Drop what bears the prefix: what was made here, and what a killed drill left behind."""
        with self.connection.cursor() as cursor:
            cursor.execute(
                "SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [self._prefix]
            )
            for (name,) in cursor.fetchall():
                self._run("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    @property
    def _prefix(self) -> str:
        """Of this database's drills: another installation on the server may hold one, too."""
        own = str(self.connection.settings_dict["NAME"])
        return f"{PREFIX}{hashlib.sha256(own.encode()).hexdigest()[:6]}_"

    def _run(self, statement: str, name: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(sql.SQL(statement).format(sql.Identifier(name)))


@contextmanager
def scratch(*, own_server: bool = False) -> Iterator[Scratch]:
    """A place for a drill; nothing of it is left afterwards.

    Args:
        own_server: do not burden this installation's server.

    Raises:
        RecoveryError: another drill runs on this server.
    """
    with tempfile.TemporaryDirectory(prefix="counterfoil-drill-") as name:
        folder = Path(name)
        with _server(folder, own=own_server) as (connection, where), _alone(connection):
            place = Scratch(connection, folder, where)
            place.sweep()
            try:
                yield place
            finally:
                place.sweep()


@contextmanager
def _server(folder: Path, *, own: bool) -> Iterator[tuple[BaseDatabaseWrapper, str]]:
    usual = connections["default"]
    if not own and _may_create(usual):
        yield usual, "this installation's server"
        return
    limits = databases.Limits(statement_s=600, idle_transaction_s=600)
    entry = databases.embedded(folder / "server", limits, fsync=False)
    handler = ConnectionHandler({"default": entry | {"NAME": "postgres"}})
    try:
        yield handler["default"], "an embedded server of its own"
    finally:
        handler.close_all()
        launcher.stop(cluster_of(entry))


def _may_create(connection: BaseDatabaseWrapper) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user")
        return bool(cursor.fetchone()[0])


@contextmanager
def _alone(connection: BaseDatabaseWrapper) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK])
        if not cursor.fetchone()[0]:
            raise RecoveryError("Another drill runs on this server. Wait for its end.")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
