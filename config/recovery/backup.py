"""A backup of the ledgers: one file, whole or not there, and what it is a backup of."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import connection, transaction

from config.recovery.errors import RecoveryError
from config.recovery.tools import tools_for
from ledgers.management.command import MisuseError

BLOCK = 1 << 20
MAGIC = b"PGDMP"  # how pg_dump's custom format begins


@dataclass(frozen=True, slots=True)
class Moment:
    """Where a ledger stood: what a restored copy is compared with.

    `write_ahead`: how often workers have counted up, all together; `newest_attempt`: the number of
    the last submission that was written down, 0 for none, and `newest_attempt_at` its moment.
    """

    at: datetime
    namespace: str
    epoch: int
    write_ahead: int
    newest_attempt: int
    newest_attempt_at: datetime | None
    deliveries: int
    migration: str


@dataclass(frozen=True, slots=True)
class Backup:
    """A file that was made. `size`: in bytes."""

    file: Path
    size: int
    sha256: str
    moment: Moment


def usual_file(at: datetime) -> Path:
    """Where a backup goes whose place nobody named; its name holds the moment, in UTC."""
    folder: Path = settings.COUNTERFOIL_DATA / "backups"
    label = "".join(c if c.isalnum() else "-" for c in settings.COUNTERFOIL_ENVIRONMENT)
    return folder / f"counterfoil-{label}-{at:%Y%m%dT%H%M%SZ}.dump"


def back_up(file: Path) -> Backup:
    """Write a backup, readable by this user only.

    Raises:
        RecoveryError: it was not made, and no part of it is left; or the file exists.
    """
    if file.exists() or file.is_symlink():
        raise RecoveryError(f"{file} exists, and a backup is never overwritten. Name another.")
    tools = tools_for(connection)
    with _emerging(file) as scratch, _snapshot() as (snapshot, moment):
        with scratch.open("r+b") as into:
            tools.dump(into, snapshot)
            os.fsync(into.fileno())
        size, digest = scratch.stat().st_size, sha256_of(scratch)
    return Backup(file, size, digest, moment)


def readable(file: Path, field: str) -> Path:
    """A backup's file, by its absolute path.

    Args:
        file: as somebody named it.
        field: of the command that named it.

    Raises:
        MisuseError: it cannot be read, or is none.
    """
    try:
        with file.open("rb") as content:
            head = content.read(len(MAGIC))
    except OSError as error:
        raise MisuseError(f"{field}: {file} cannot be read: {error.strerror}", field) from error
    if head != MAGIC:
        right = "a file of manage.py backup"
        raise MisuseError(f"{field}: {file} is no backup. Right would be: {right}", field)
    return file.absolute()


def sha256_of(file: Path) -> str:
    """The digest of a file's content, in hexadecimal."""
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while block := content.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def moment_now() -> Moment:
    """Where the ledger that this process is connected to stands."""
    with connection.cursor() as cursor:
        cursor.execute(_MOMENT)
        at, namespace, *rest = cursor.fetchone()
    return Moment(at, str(namespace), *rest)


# The newest attempt is the one with the highest number: they are numbered as they are written. What
# was restored may be of an older schema, without the counts.
_MOMENT = """
SELECT clock_timestamp(), i.namespace, i.epoch,
    (SELECT coalesce(sum((to_jsonb(w)->>'mark')::bigint), 0)::bigint FROM delivery_worker w),
    coalesce((SELECT id FROM ledgers_attempt ORDER BY id DESC LIMIT 1), 0),
    (SELECT opened_at FROM ledgers_attempt ORDER BY id DESC LIMIT 1),
    (SELECT count(*) FROM ledgers_delivery),
    (SELECT name FROM django_migrations WHERE app = 'ledgers' ORDER BY id DESC LIMIT 1)
FROM ledgers_installation i"""


@contextmanager
def _snapshot() -> Iterator[tuple[str, Moment]]:
    """A view of the database that `pg_dump` shares, and where it stands: not a moment later."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            # This session only waits while the other reads, for as long as that takes.
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            cursor.execute("SELECT pg_export_snapshot()")
            (snapshot,) = cursor.fetchone()
        yield snapshot, moment_now()


@contextmanager
def _emerging(file: Path) -> Iterator[Path]:
    """A file beside it that becomes it at the end, or is gone."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)  # mode 0600
    except OSError as error:
        raise RecoveryError(f"{file} cannot be written: {error.strerror}.") from error
    os.close(handle)
    scratch = Path(name)
    try:
        yield scratch
        _publish(scratch, file)
    finally:
        scratch.unlink(missing_ok=True)


def _publish(scratch: Path, file: Path) -> None:
    """A link and not a rename: it fails where another backup took the name meanwhile."""
    try:
        os.link(scratch, file)
    except FileExistsError:
        raise RecoveryError(f"{file} was made by somebody else meanwhile. Name another.") from None
    except OSError:  # some file systems know no links
        scratch.rename(file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
