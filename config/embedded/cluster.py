"""Where an embedded server keeps its files and its socket."""

import hashlib
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from psycopg.conninfo import make_conninfo

from config.embedded.errors import UnsafeFolderError

SUPERUSER = "counterfoil"
# Only names the socket file: the server listens on no network address.
PORT = 5432
# sockaddr_un.sun_path holds 104 bytes on some systems and 108 on others, the last one zero.
LONGEST_SOCKET_NAME = 103


@dataclass(frozen=True, slots=True)
class Cluster:
    """An embedded server, named by its data folder (absolute, links resolved).

    `fsync` off trades safety for speed; for tests.
    """

    folder: Path
    fsync: bool = True

    @property
    def pgdata(self) -> Path:
        return self.folder / "postgres"

    @property
    def lock(self) -> Path:
        return self.folder / "launcher.lock"

    @property
    def log(self) -> Path:
        return self.pgdata / "server.log"

    @property
    def socket_folder(self) -> Path:
        """Where clients find the socket: what a server noted on starting, else where one would."""
        return _noted_socket_folder(self.pgdata / "postmaster.pid") or self.new_socket_folder

    @property
    def new_socket_folder(self) -> Path:
        """Where a server started now would put its socket."""
        name = os.fsencode(self.pgdata / f".s.PGSQL.{PORT}")
        # libpq reads a comma as the end of one host and the start of the next.
        if len(name) <= LONGEST_SOCKET_NAME and b"," not in name:
            return self.pgdata
        mark = hashlib.sha256(os.fsencode(self.pgdata)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"counterfoil-{mark}"

    def conninfo(self, database: str = "postgres") -> str:
        """The argument of `psycopg.connect`."""
        return make_conninfo(
            host=str(self.socket_folder),
            port=PORT,
            user=SUPERUSER,
            dbname=database,
            connect_timeout=5,
        )


def make_private(folder: Path, owner: int) -> None:
    """Make sure that only user number `owner` (and root) can look into `folder`.

    Raises:
        UnsafeFolderError: it exists and is a link, is open to others, or belongs to another user.
    """
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        found = folder.lstat()
        private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
        if not private or found.st_uid not in {owner, os.geteuid()}:
            raise UnsafeFolderError(
                f"{folder} must be a folder of mode 0700 that belongs to user {owner}; "
                "somebody else made it. Remove it and start again."
            ) from None
    if os.geteuid() != owner:
        os.chown(folder, owner, -1)


def _noted_socket_folder(pid_file: Path) -> Path | None:
    """Line 5 of postmaster.pid; written before the server listens, and left behind by a kill."""
    try:
        lines = pid_file.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return None
    noted = lines[4] if len(lines) > 4 else ""
    return Path(noted) if noted.startswith("/") else None
