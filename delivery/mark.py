"""The high-water mark: what this host knows of the ledger, kept outside the database.

A worker's row counts up with every write-ahead, in its transaction (`delivery_worker.mark`). Before
the first byte of that wave leaves, the count stands in a file here. So a database that lacks the
wave can never satisfy the file, in whatever order transactions were committed; and since every beat
counts too, a worker's count vouches for all that was committed before it.

One file for each instance of an installation, shared by the workers of this host; a lock keeps them
from losing each other's counts. It is replaced as a whole. Waves do not wait for the disk, beats
do: what a power cut can cost is the last beat's time.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings

from delivery.errors import MarkError
from delivery.whereabouts import Whereabouts
from ledgers.instance import Instance

PATIENCE_S = 5.0  # for the lock, which is held for as long as a small file takes
RIGHT = "Let COUNTERFOIL_MARK name a folder that this user may write and that outlives restarts."


@dataclass(frozen=True, slots=True)
class Mark:
    """What was known when it was written.

    `counts`: the workers' own counts, by name, which a database that knows as much has reached.
    `where`: on which host, in which folder. `unsure_at`: it counts only once a person has said,
    after that moment, which database this is.
    """

    epoch: int
    instance: Instance
    where: Whereabouts
    counts: Mapping[str, int] = field(default_factory=dict)
    unsure_at: datetime | None = None

    @classmethod
    def read(cls, said: Any) -> "Mark":
        """What `written` gave.

        Raises:
            ValueError, KeyError, TypeError, AttributeError: it is none.
        """
        instance, where = Instance.read(said["instance"]), Whereabouts.read(said["where"])
        if instance is None or where is None:
            raise ValueError("instance or host are missing")
        counts = {str(name): int(count) for name, count in said["counts"].items()}
        unsure = said["unsure_at"]
        at = datetime.fromisoformat(unsure) if unsure else None
        return cls(int(said["epoch"]), instance, where, counts, at)

    def written(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return {
            "epoch": self.epoch,
            "instance": self.instance.written(),
            "where": self.where.written(),
            "counts": dict(self.counts),
            "unsure_at": self.unsure_at.isoformat() if self.unsure_at else None,
        }


def folder() -> Path:
    """Where marks are kept."""
    place: Path = settings.COUNTERFOIL_MARK
    return place


def read(namespace: UUID, instance: Instance) -> Mark | None:
    """This host's mark of an instance of an installation, or None where it has none.

    Raises:
        MarkError: there is one, and it cannot be read.
    """
    path = path_of(namespace, instance)
    try:
        return Mark.read(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MarkError(f"The mark {path} cannot be read: {error.strerror}. {RIGHT}") from error
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise MarkError(f"The mark {path} is damaged: {error}.") from error


def elsewhere(namespace: UUID, instance: Instance) -> Instance | None:
    """Another instance of this installation in which workers of this host have worked, if any."""
    for path in sorted(folder().glob(f"{namespace}-*.json")):
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            other = Mark.read(json.loads(path.read_text(encoding="utf-8")))
            if other.instance != instance and other.counts:
                return other.instance
    return None


def keep(
    namespace: UUID,
    mark: Mark,
    satisfied: Mapping[str, int] | None = None,
    *,
    anew: bool = False,
    durable: bool = False,
) -> None:
    """Write counts into the mark, beside those of the other workers of this host.

    Args:
        namespace: of which installation.
        mark: epoch, instance and the counts to be written.
        satisfied: counts that were in the file, and that the database was seen to have reached
            before this worker's own count was raised: that one stands for them from here on.
        anew: replace a mark that is about another epoch.
        durable: wait for the disk.

    Raises:
        MarkError: it cannot be written; or it is about another epoch, and not `anew`.
    """
    with _locked():
        there = _as_known(namespace, mark)
        same = there.epoch == mark.epoch
        if not same and not anew:
            raise MarkError(
                f"The mark {path_of(namespace, mark.instance)} is of epoch {there.epoch} by now,"
                f" and this worker is in epoch {mark.epoch}."
            )
        reached = satisfied or {}
        others = {n: c for n, c in there.counts.items() if same and reached.get(n) != c}
        _write(namespace, replace(mark, counts={**others, **mark.counts}), durable=durable)


def _as_known(namespace: UUID, mine: Mark) -> Mark:
    """The mark as it is there. What was taken away or damaged under a worker it makes anew."""
    try:
        return read(namespace, mine.instance) or replace(mine, counts={})
    except MarkError:
        return replace(mine, counts={})


def path_of(namespace: UUID, instance: Instance) -> Path:
    """Its file. A copy on the same host, made to try a restore, leaves the original's alone."""
    return folder() / f"{namespace}-{instance.fingerprint}.json"


@contextmanager
def _locked() -> Iterator[None]:
    """One process, and one thread, at a time. The lock ends with whoever holds it.

    A process that is frozen holds it, too: then nothing is sent, and this one can still be ended.
    """
    place = folder()
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(place / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise MarkError(f"No mark can be kept in {place}: {error.strerror}. {RIGHT}") from error
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    give_up = time.monotonic() + PATIENCE_S
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > give_up:
                raise MarkError(
                    f"A worker that stands still holds {folder() / 'lock'}."
                    " Let it go on, or kill it."
                ) from error
            time.sleep(0.002)


def _write(namespace: UUID, mark: Mark, *, durable: bool) -> None:
    """The caller has the lock, so one name for the scratch file is enough."""
    path = path_of(namespace, mark.instance)
    scratch = path.with_suffix(".new")
    durable = durable and settings.COUNTERFOIL_FSYNC
    try:
        with os.fdopen(_private(scratch), "w", encoding="utf-8") as file:
            json.dump(mark.written(), file)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        scratch.replace(path)
        if durable:
            _sync_folder(path.parent)
    except OSError as error:
        raise MarkError(f"The mark {path} cannot be written: {error.strerror}. {RIGHT}") from error


def _private(path: Path) -> int:
    """A new file that nobody else may read."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)


def _sync_folder(place: Path) -> None:
    """A name is on the disk once its folder is (fsync(2))."""
    descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
