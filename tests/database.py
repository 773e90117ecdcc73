"""The database of a test run: migrated once into a template, cloned for each process.

A template is named by a hash of the sources, so a run after no change starts in a tenth of a
second, and a change of any model or migration makes a new one.
"""

import hashlib
import importlib.metadata
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from psycopg import sql

from config.embedded import launcher
from config.embedded.base import cluster_of
from delivery import mark, origin
from delivery.journal import stop_sign
from ledgers import instance
from ledgers.models import Installation
from tests import flushing

APPS = ("ledgers", "delivery", "reviews", "config")
TEMPLATE = "template_counterfoil_"
LOCK = 0x0C0F  # an advisory lock of our own, on a server of our own


@contextmanager
def cloned() -> Iterator[None]:
    """Give this process a migrated database under the name in the settings; drop it afterwards."""
    name = settings.DATABASES["default"]["NAME"]
    with _server() as server:
        _clone(server, name)
    try:
        with flushing.quick():
            yield
    finally:
        connection.close()
        with _server() as server:
            _drop(server, name)


@dataclass
class Witness:
    """The mark of a database that this host saw begin. Each test starts from it.

    The clone is of one instance and namespace as long as it lives, so it is worked out once.
    """

    path: Path | None = None
    kept: bytes = b""

    def put_back(self) -> None:
        for put_down in (stop_sign.set, stop_sign.hold, stop_sign.doubt):
            put_down("")  # what a worker of an earlier test has put up
        for note in mark.folder().rglob("*.json"):  # of databases that other tests made
            note.unlink(missing_ok=True)
        if self.path is not None:
            self.path.write_bytes(self.kept)
            return
        origin.note_birth()
        self.path = mark.path_of(Installation.objects.get().namespace, instance.present())
        self.kept = self.path.read_bytes()


witness = Witness()


@contextmanager
def _server() -> Iterator[psycopg.Connection[Any]]:
    """A short connection: one kept open would be closed by the first forked child that ends."""
    cluster = cluster_of(connection.settings_dict)
    launcher.ensure_running(cluster)
    with psycopg.connect(cluster.conninfo(), autocommit=True) as server:
        yield server


def _clone(server: psycopg.Connection[Any], name: str) -> None:
    server.execute("SELECT pg_advisory_lock(%s)", [LOCK])  # until the connection ends
    _sweep(server)
    _forget(name)  # numbers of processes come again, and a killed run leaves its marks
    _run(server, "CREATE DATABASE {} TEMPLATE {}", name, _template(server))
    # The ledger's TRUNCATE triggers look for this setting: Django's flush truncates. It is kept
    # outside the database, so a clone or a restored copy never has it.
    _run(server, "ALTER DATABASE {} SET counterfoil.allow_truncate = 'on'", name)


def _drop(server: psycopg.Connection[Any], name: str) -> None:
    _run(server, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)
    _forget(name)


def _forget(name: str) -> None:
    for kept in ("cache", "marks"):
        shutil.rmtree(settings.COUNTERFOIL_DATA / kept / name, ignore_errors=True)


def _template(server: psycopg.Connection[Any]) -> str:
    """The name of the template for the sources as they are, made if need be."""
    name = TEMPLATE + _hash_of_sources()
    if name not in _databases(server):
        for old in _databases(server):
            if old.startswith(TEMPLATE):
                _run(server, "DROP DATABASE {} WITH (FORCE)", old)
        scratch = f"scratch_{name}"
        _run(server, "DROP DATABASE IF EXISTS {} WITH (FORCE)", scratch)
        _run(server, "CREATE DATABASE {}", scratch)
        _migrate(scratch)
        _run(server, "ALTER DATABASE {} RENAME TO {}", scratch, name)
    return name


def _migrate(database: str) -> None:
    usual = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = database
    try:
        call_command("migrate", verbosity=0, interactive=False)
    finally:
        connection.close()
        connection.settings_dict["NAME"] = usual


def _hash_of_sources() -> str:
    """Of all sources, not of the migrations alone: those may import from anywhere."""
    digest = hashlib.sha256()
    for package in ("Django", "django-q2", "django-axes"):
        digest.update(importlib.metadata.version(package).encode())
    for app in APPS:
        for path in sorted((settings.BASE_DIR / app).rglob("*")):
            if path.suffix in {".py", ".sql"}:
                digest.update(str(path).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _sweep(server: psycopg.Connection[Any]) -> None:
    """Drop what killed runs left behind."""
    for name in _databases(server):
        owner = re.fullmatch(r"test_counterfoil_(\d+)_\w+", name)
        if owner and not _alive(int(owner[1])):
            _drop(server, name)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _databases(server: psycopg.Connection[Any]) -> list[str]:
    return [name for (name,) in server.execute("SELECT datname FROM pg_database")]


def _run(server: psycopg.Connection[Any], statement: str, *names: str) -> None:
    server.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
