"""PostgreSQL's own programs, and how they reach the server that a connection is to.

The embedded server comes with programs of its own. Those for another server are the ones on PATH
if they are at least as new as it is; otherwise the embedded ones: a newer `pg_dump` reads older
servers (https://www.postgresql.org/docs/current/app-pgdump.html, Notes), an older one refuses.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.conninfo import make_conninfo

from config.embedded import tools as embedded
from config.embedded.base import DatabaseWrapper as EmbeddedWrapper
from config.recovery.errors import RecoveryError

# What `get_connection_params` holds beside libpq's own words.
NOT_LIBPQ = {"cursor_factory", "context", "prepare_threshold", "password", "client_encoding"}
SAID_LAST = 2_000  # characters of what a program said
LIMIT_S = 6 * 3600.0


@dataclass(frozen=True, slots=True)
class Tools:
    """`folder`: where the programs lie; `address`: libpq's words for the server, no password.

    `environment`: for the programs; that of the embedded ones has nothing that leads elsewhere.
    """

    folder: Path
    address: Mapping[str, str]
    environment: Mapping[str, str]
    password: str = ""

    def dump(self, into: IO[bytes], snapshot: str = "") -> None:
        """Write the database's whole content in custom format; as it was in an exported snapshot.

        Raises:
            RecoveryError: with what `pg_dump` said.
        """
        words = ["--format=custom", f"--dbname={self.conninfo()}"]
        words += [f"--snapshot={snapshot}"] if snapshot else []
        self._run("pg_dump", words, into)

    def restore(self, file: Path, database: str, *, replace: bool = False) -> None:
        """Put a backup into a database that exists; all of it, or nothing.

        Args:
            file: made by `dump`.
            database: on the same server; empty unless `replace` is set.
            replace: drop first what stands in the way (`pg_restore --clean`).

        Raises:
            RecoveryError: with what `pg_restore` said.
        """
        # Owners and grants are the restorer's: the roles of the old server may not exist here.
        words = ["--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction"]
        words += ["--clean", "--if-exists"] if replace else []
        self._run("pg_restore", [*words, f"--dbname={self.conninfo(database)}", str(file)])

    def conninfo(self, database: str = "") -> str:
        """libpq's address of a database on this server; of the connection's own if none is named.

        The password is not in it: arguments can be read by everybody on the machine.
        """
        return make_conninfo(**{**self.address, **({"dbname": database} if database else {})})

    def _run(self, program: str, words: Sequence[str], into: IO[bytes] | None = None) -> None:
        secret = {"PGPASSWORD": self.password} if self.password else {}
        try:
            done = subprocess.run(
                [str(self.folder / program), *words],
                env={**self.environment, **secret},
                stdin=subprocess.DEVNULL,
                stdout=into or subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                check=False,
                timeout=LIMIT_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RecoveryError(f"{program} could not be run: {error}") from error
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()[-SAID_LAST:]
            raise RecoveryError(f"{program} ended with {done.returncode} and said: {said}")


def tools_for(connection: BaseDatabaseWrapper) -> Tools:
    """The programs for the server of a connection, which is opened for it.

    Raises:
        RecoveryError: there are none that can read it.
    """
    connection.ensure_connection()
    params: dict[str, Any] = connection.get_connection_params()
    address = {k: str(v) for k, v in params.items() if k not in NOT_LIBPQ and v is not None}
    # libpq reads for another server what psycopg reads: PGSSLROOTCERT, PGPASSFILE and their like.
    is_embedded = isinstance(connection, EmbeddedWrapper)
    environment = embedded.environment() if is_embedded else {**os.environ, "LC_ALL": "C"}
    return Tools(_folder_for(connection), address, environment, str(params.get("password") or ""))


def major_version(connection: BaseDatabaseWrapper) -> int:
    """The server's, such as 18."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        return int(cursor.fetchone()[0]) // 10_000


def _folder_for(connection: BaseDatabaseWrapper) -> Path:
    own = embedded.binaries()
    if isinstance(connection, EmbeddedWrapper):
        return own
    server = major_version(connection)
    for folder in filter(None, (_on_path(), own)):
        if _major_of(folder / "pg_dump") >= server:
            return folder
    raise RecoveryError(
        f"The server is PostgreSQL {server}, and no pg_dump that can read it was found. Install"
        f" postgresql-client-{server}, or put its folder first on PATH."
    )


def _on_path() -> Path | None:
    """The folder of both programs; of one alone nothing can be restored."""
    found = shutil.which("pg_dump")
    folder = Path(found).parent if found else None
    return folder if folder and (folder / "pg_restore").exists() else None


def _major_of(program: Path) -> int:
    """Of a program such as `pg_dump (PostgreSQL) 18.1`; 0 if it does not say."""
    try:
        said = subprocess.run(
            [program, "--version"], capture_output=True, text=True, check=False, timeout=30
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0
    number = re.search(r"\(PostgreSQL\) (\d+)", said)
    return int(number[1]) if number else 0
