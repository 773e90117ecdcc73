"""Which database this is: what tells one instance from every other, copies included.

A `CREATE DATABASE … TEMPLATE` copy shares system and timeline with its original, a promoted standby
shares the system, a dump that was restored shares nothing but what is in it. A copy of the server's
files shares all of it: only what is kept outside the database can tell (`delivery.mark`).
"""

import json
from dataclasses import asdict, dataclass
from typing import Any, Self

from django.db import connection

from ledgers.canonical import sha256


@dataclass(frozen=True, slots=True)
class Instance:
    """One database of one server since its last promotion.

    `system`: the server's identifier, made by initdb. `timeline`: raised by every promotion and
    every recovery to a point in time. `oid`, `name`: of the database within the server.
    """

    system: str
    timeline: int
    oid: int
    name: str

    @classmethod
    def read(cls, said: Any) -> Self | None:
        """What `written` gave, or None where it is none."""
        try:
            return cls(
                str(said["system"]), int(said["timeline"]), int(said["oid"]), str(said["name"])
            )
        except (TypeError, KeyError, ValueError):
            return None

    def written(self) -> dict[str, Any]:
        """As JSON keeps it; the identifier as text, since it has more bits than a double."""
        return asdict(self)

    @property
    def fingerprint(self) -> str:
        """A short name for it, the same wherever it is asked."""
        return sha256(json.dumps(self.written(), sort_keys=True))[:12]

    def __str__(self) -> str:
        return (
            f"database {self.name} ({self.oid}) of server {self.system}, timeline {self.timeline}"
        )


def present() -> Instance:
    """The database that the default connection leads to, now.

    The timeline is that of the write-ahead log being written: the checkpoint's own, in
    `pg_control_checkpoint()`, lags behind a promotion. Any role may ask all of it. A server in
    recovery refuses (OperationalError or ProgrammingError of `django.db`); it takes no writes
    either.
    """
    with connection.cursor() as cursor:
        cursor.execute(_PRESENT)
        system, timeline, oid, name = cursor.fetchone()
    return Instance(system, int(timeline, 16), oid, name)


def unfinished() -> list[str]:
    """The tables that a restore has not finished; none in a database that is whole.

    `pg_restore`, unless it is told to take one transaction, shows each table as it is filled, and
    gives it its primary key once its rows are there.
    """
    with connection.cursor() as cursor:
        cursor.execute(_UNFINISHED, [connection.introspection.django_table_names()])
        return [name for (name,) in cursor.fetchall()]


_UNFINISHED = """
SELECT t.name FROM unnest(%s::text[]) AS t(name) WHERE NOT EXISTS (
    SELECT FROM pg_constraint c
    WHERE c.conrelid = to_regclass(quote_ident(t.name)) AND c.contype = 'p')
ORDER BY t.name"""

# The first eight hexadecimal digits of a segment's name are its timeline (PostgreSQL's manual,
# "WAL Internals").
_PRESENT = """
SELECT c.system_identifier::text, left(pg_walfile_name(pg_current_wal_lsn()), 8),
    d.oid::bigint, d.datname
FROM pg_control_system() c, pg_database d WHERE d.datname = current_database()"""
