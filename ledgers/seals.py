"""Sealing the record: what may never change again goes into a chain of hash trees.

Each seal covers some events, closed attempts and evidence, and the seal before it. So a later
edit, removal or insertion is shown by `ledgers.sealcheck`, also one by a superuser who lifted the
triggers. Who rebuilds every later seal goes unnoticed there; an anchor kept elsewhere shows that.

One at a time: the sealer holds a lock until its commit. A crash leaves nothing half.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import connection, transaction

from ledgers import hashtree
from ledgers.clock import database_now
from ledgers.models import Installation, Seal

KINDS = ("event", "attempt", "evidence")
COLUMNS = {"event": "events", "attempt": "attempts", "evidence": "evidence"}
BATCH = 2_000  # rows in one seal
EVERY = timedelta(seconds=60)  # after so long less than a batch is sealed, too
NOTHING_BEFORE = bytes(32)
_LOCK = 0x5EA1  # of the advisory lock


@dataclass(frozen=True, slots=True)
class Header:
    """What a seal says about its rows: all that its hash covers."""

    installation: str
    number: int
    sealed_at: datetime
    size: int
    root: bytes
    previous: bytes

    @property
    def text(self) -> str:
        """In one spelling; `docs/prove.md` explains it."""
        value = {
            "form": 1,
            "installation": self.installation,
            "number": self.number,
            "previous": self.previous.hex(),
            "root": self.root.hex(),
            "sealed_at": self.sealed_at.astimezone(UTC).isoformat(timespec="microseconds"),
            "size": self.size,
        }
        return json.dumps(value, sort_keys=True, separators=(",", ":"))

    @property
    def hash(self) -> bytes:
        return hashlib.sha256(b"\x02" + self.text.encode()).digest()


@dataclass(frozen=True, slots=True)
class Anchor:
    """One seal's number and hash: what an operator keeps elsewhere."""

    number: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.number}:{self.hash.hex()}"


def header_of(seal: Seal, installation: str) -> Header:
    """What the stored seal says, for comparing with its hash."""
    size = len(seal.events) + len(seal.attempts) + len(seal.evidence)
    return Header(
        installation, seal.number, seal.sealed_at, size, bytes(seal.root), bytes(seal.previous)
    )


def newest() -> Anchor | None:
    """The latest seal, if there is one."""
    found = Seal.objects.order_by("-number").values_list("number", "hash").first()
    return Anchor(found[0], bytes(found[1])) if found else None


def waiting() -> int:
    """How many rows wait for their seal; at most a batch is counted."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM (SELECT FROM ledgers_unsealed LIMIT %s) AS first", [BATCH]
        )
        return int(cursor.fetchone()[0])


def is_due() -> bool:
    """Whether a whole batch waits, or anything does and the last seal is a minute old."""
    rows = waiting()
    if not rows or rows >= BATCH:
        return bool(rows)
    last = Seal.objects.order_by("-number").values_list("sealed_at", flat=True).first()
    return last is None or not last <= database_now() < last + EVERY


def seal_all(batch: int = BATCH) -> int:
    """Seal everything that waits now, after another sealer if there is one; tell how many rows."""
    total = 0
    while sealed := seal(batch, wait=True):
        total += sealed
    return total


def seal(batch: int = BATCH, *, wait: bool = False) -> int:
    """Seal what waits, at most `batch` rows, in one transaction.

    Args:
        batch: rows.
        wait: for another process that is sealing, until its commit.

    Returns:
        how many rows; 0 if nothing waits, or another process is sealing.
    """
    with transaction.atomic():
        if not _alone(wait=wait):
            return 0
        found = {kind: _leaves(kind, ids) for kind, ids in _wait_for_seal(batch).items()}
        leaves = [leaf for kind in KINDS for _, leaf in found[kind]]
        if leaves:
            _write({kind: [row_id for row_id, _ in found[kind]] for kind in KINDS}, leaves)
        return len(leaves)


def _alone(*, wait: bool) -> bool:
    """The lock's own statement: what is read afterwards is all that the sealer before committed."""
    with connection.cursor() as cursor:
        if wait:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            return True
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
        return bool(cursor.fetchone()[0])


def _wait_for_seal(batch: int) -> dict[str, list[int]]:
    waits: dict[str, list[int]] = {kind: [] for kind in KINDS}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT kind, row_id FROM ledgers_unsealed ORDER BY kind, row_id LIMIT %s", [batch]
        )
        for kind, row_id in cursor.fetchall():
            waits[kind].append(row_id)
    return waits


def _leaves(kind: str, ids: Sequence[int]) -> list[tuple[int, bytes]]:
    """By number. What is gone although it waited has none: `ledgers.sealcheck` names it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, leaf FROM ledgers_leaves(%s, %s)", [kind, list(ids)])
        return [(row_id, bytes(leaf)) for row_id, leaf in cursor.fetchall()]


def _write(ids: dict[str, list[int]], leaves: Sequence[bytes]) -> None:
    last = newest()
    header = Header(
        installation=str(Installation.objects.get().namespace),
        number=last.number + 1 if last else 1,
        sealed_at=database_now(),
        size=len(leaves),
        root=hashtree.root(leaves),
        previous=last.hash if last else NOTHING_BEFORE,
    )
    Seal.objects.create(
        number=header.number,
        sealed_at=header.sealed_at,
        leaves=b"".join(leaves),
        root=header.root,
        previous=header.previous,
        hash=header.hash,
        **{COLUMNS[kind]: rows for kind, rows in ids.items()},
    )
    with connection.cursor() as cursor:
        for kind, rows in ids.items():
            cursor.execute(
                "DELETE FROM ledgers_unsealed WHERE kind = %s AND row_id = ANY(%s)", [kind, rows]
            )
