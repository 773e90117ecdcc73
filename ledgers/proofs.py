"""Proofs that rows of the record are in the chain of seals, for somebody without the database."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from ledgers import hashtree
from ledgers.models import Installation, Seal, Unsealed
from ledgers.sealcheck import leaves_of, present_leaves
from ledgers.seals import COLUMNS, Anchor, header_of

Row = tuple[str, int]  # kind and number
PAGE = 8  # seals read at once
NEAR = 500  # numbers


@dataclass(frozen=True, slots=True)
class Proof:
    """Where a row stands: which seal, which leaf, and what leads from the leaf to the root."""

    seal: int
    index: int
    path: tuple[bytes, ...]


def records(kind: str, ids: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Each row in the words that were sealed, with its proof; `seal` is None while it waits.

    Args:
        kind: event, attempt (closed ones only) or evidence.
        ids: by number.
    """
    texts = _texts(kind, ids)
    found = proofs((kind, row_id) for row_id in texts)
    for row_id, text in texts.items():
        proof = found.get((kind, row_id))
        yield {
            "kind": kind,
            "id": row_id,
            "text": text,
            "seal": proof.seal if proof else None,
            "index": proof.index if proof else None,
            "path": [step.hex() for step in proof.path] if proof else [],
        }


def _texts(kind: str, ids: Sequence[int]) -> dict[int, str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, body FROM ledgers_texts(%s, %s) ORDER BY id", [kind, list(ids)])
        return dict(cursor.fetchall())


def proofs(rows: Iterable[Row]) -> dict[Row, Proof]:
    """The proofs of these rows; none for one that waits for its seal."""
    found: dict[Row, Proof] = {}
    _look_up(rows, lambda seal, missing: _prove(seal, missing, found))
    return found


def changed(rows: Iterable[Row]) -> list[Row]:
    """Which of these rows are not what was sealed, or are in no seal and wait for none."""
    wanted = list(rows)
    sealed: dict[Row, bytes] = {}
    waiting = _look_up(wanted, lambda seal, missing: _take(seal, missing, sealed))
    now = {
        (kind, row_id): leaf
        for kind in COLUMNS
        for row_id, leaf in present_leaves(kind, [n for of, n in wanted if of == kind]).items()
    }
    return [row for row in wanted if row not in waiting and now.get(row) != sealed.get(row, b"")]


def _look_up(rows: Iterable[Row], take: Callable[[Seal, set[Row]], None]) -> set[Row]:
    """Let `take` have each seal that may hold some of these rows; it takes out what it finds.

    Returns:
        the rows that wait for their seal.
    """
    missing = set(rows)
    unsealed = Unsealed.objects.filter(row_id__in={row_id for _, row_id in missing})
    waiting = set(unsealed.values_list("kind", "row_id")) & missing
    missing -= waiting
    numbers = sorted({number for kind in COLUMNS for number in _seals_of(kind, missing)})
    for seal in Seal.objects.filter(number__in=numbers).order_by("number").iterator(PAGE):
        take(seal, missing)
        if not missing:
            break
    return waiting


def _seals_of(kind: str, rows: set[Row]) -> set[int]:
    """The seals whose lowest and highest number of this kind enclose some of these rows."""
    spans = list(_spans(sorted(row_id for of, row_id in rows if of == kind)))
    if not spans:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT s.number FROM unnest(%s::bigint[], %s::bigint[]) AS w (low, high)"
            f" JOIN ledgers_seal s ON s.{kind}_span && int8range(w.low, w.high, '[]')",
            [[low for low, _ in spans], [high for _, high in spans]],
        )
        return {number for (number,) in cursor.fetchall()}


def _spans(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Numbers that are near each other, as one span: they are in the same seal, or in the next."""
    start = 0
    for at in range(1, len(numbers) + 1):
        if at == len(numbers) or numbers[at] - numbers[at - 1] > NEAR:
            yield numbers[start], numbers[at - 1]
            start = at


def _take(seal: Seal, missing: set[Row], found: dict[Row, bytes]) -> None:
    for kind, row_id, leaf in leaves_of(seal):
        if (kind, row_id) in missing:
            found[kind, row_id] = leaf
            missing.remove((kind, row_id))


def _prove(seal: Seal, missing: set[Row], found: dict[Row, Proof]) -> None:
    rows = list(leaves_of(seal))
    wanted = [at for at, (kind, row_id, _) in enumerate(rows) if (kind, row_id) in missing]
    if not wanted:
        return
    levels = hashtree.levels_of([leaf for _, _, leaf in rows])
    for index in wanted:
        row = rows[index][:2]
        found[row] = Proof(seal.number, index, tuple(hashtree.path_in(levels, index)))
        missing.remove(row)


def chain(first: int) -> dict[str, Any]:
    """The headers of all seals from `first` to the newest, in as few words as their hashes take."""
    installation = str(Installation.objects.get().namespace)
    seals = Seal.objects.filter(number__gte=first).order_by("number").defer("leaves")
    headers, previous, last = [], "", ""
    for seal in seals.iterator(100):
        header = header_of(seal, installation)
        previous = previous or header.previous.hex()
        headers.append([_moment(seal.sealed_at), header.size, header.root.hex()])
        last = str(Anchor(seal.number, bytes(seal.hash)))
    return {
        "installation": installation,
        "first": first,
        "previous": previous,
        "headers": headers,
        "newest": last,
    }


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds")
