"""A PostgreSQL of one's own: killing it harms nobody.

What a killed server had promised is there when it is back: commits wait until the log is written.
Nobody waits for it to reach the disk, since the machine does not go down here, and a recovery that
does takes most of the time in which something could be tried.
"""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import scalar_row

from config.embedded import launcher, postmaster
from config.embedded.cluster import SUPERUSER, Cluster
from tests.embedded.processes import PROJECT, until

NAME = "counterfoil"
APP = "counterfoil_app"  # the role that docs/database-role.md makes: it owns nothing
OTHERS = "backend_type = 'client backend' AND usename = 'counterfoil_app'"
_DOCUMENT = PROJECT / "docs" / "database-role.md"


class Server:
    """The server in `folder`, made and started by `start`."""

    def __init__(self, folder: Path) -> None:
        self.cluster = Cluster(folder)
        self._hogs: list[psycopg.Connection[Any]] = []

    @property
    def url(self) -> str:
        """The owner's DATABASE_URL, past every proxy."""
        return f"postgres://{SUPERUSER}@/{NAME}?host={self.cluster.socket_folder}"

    @property
    def socket(self) -> Path:
        return self.cluster.socket_folder / ".s.PGSQL.5432"

    def start(self) -> None:
        """Return when it answers: made if need be, recovered if it was killed."""
        launcher.ensure_running(self.cluster, NAME)

    def wait_for_no_disk(self) -> None:
        """See above; from now on, and after each restart."""
        with self.owner() as owner:
            owner.execute("ALTER SYSTEM SET fsync = off")
            owner.execute("SELECT pg_reload_conf()")

    def stop(self) -> None:
        launcher.stop(self.cluster)

    @contextmanager
    def owner(self) -> Iterator[psycopg.Connection[Any]]:
        """A short connection of its owner, in autocommit."""
        with psycopg.connect(
            self.cluster.conninfo(NAME), autocommit=True, row_factory=scalar_row
        ) as owner:
            yield owner

    def make_role(self) -> None:
        """The application's role, statement for statement as the document has it."""
        made = re.search(r"```sql\n(.*?)```", _DOCUMENT.read_text(), re.DOTALL)
        assert made is not None
        with self.owner() as owner:
            owner.execute(made[1].encode())

    # Faults

    def kill(self) -> None:
        """SIGKILL the main process; its children find out and end."""
        pid = postmaster.running(self.cluster)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            until(lambda: postmaster.running(self.cluster) is None, "the killed server is gone")

    def tell(self, number: signal.Signals, *pids: int) -> None:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def backends(self, where: str = "true") -> list[int]:
        """The process numbers of the application's connections."""
        with self.owner() as owner:
            query = f"SELECT pid FROM pg_stat_activity WHERE {OTHERS} AND {where} ORDER BY pid"
            return list(owner.execute(query.encode()))

    def terminate(self) -> int:
        """End every connection of the application, as an administrator does; how many."""
        with self.owner() as owner:
            query = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {OTHERS}"
            return len(owner.execute(query.encode()).fetchall())

    def read_only(self, *, on: bool) -> None:
        """As after a failover to a server that takes no writes. Sessions begin anew."""
        with self.owner() as owner:
            owner.execute(f"ALTER ROLE {APP} SET default_transaction_read_only = {on}".encode())
        self.terminate()

    def limit_connections(self, most: int) -> None:
        """The application gets so many connections, -1 for as many as it likes."""
        with self.owner() as owner:
            statement = sql.SQL("ALTER ROLE {} CONNECTION LIMIT {}")
            owner.execute(statement.format(sql.Identifier(APP), sql.Literal(most)))
        if most >= 0:
            self.terminate()

    @contextmanager
    def locked(self, table: str) -> Iterator[None]:
        """Somebody has the whole table, as a migration that nobody commits."""
        with self.owner() as owner, owner.transaction():
            owner.execute("SET LOCAL lock_timeout = '2s'")
            owner.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE".encode())
            yield
