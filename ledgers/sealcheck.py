"""Whether the record is still what was sealed: the chain, each row, and that none is left out.

Nothing here is believed because it is stored: trees are built again from their leaves, seals hashed
again from what they say, and each row's leaf computed again from the row.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator

from django.db import connection

from ledgers import hashtree
from ledgers.models import Installation, Seal
from ledgers.seals import COLUMNS, KINDS, NOTHING_BEFORE, Anchor, header_of

Finding = tuple[str, ...]
PAGE = 20  # seals read at once: memory stays flat however long the chain is


def broken_chain() -> Iterator[Finding]:
    """Seals that do not follow from their leaves, or from the seal before."""
    installation = str(Installation.objects.get().namespace)
    expected, previous = 1, NOTHING_BEFORE
    for seal in Seal.objects.order_by("number").iterator(PAGE):
        if seal.number != expected:
            yield str(seal), f"{seal.number - expected} before it are missing"
        elif bytes(seal.previous) != previous:
            yield str(seal), "does not follow from the seal before it"
        if wrong := _wrong(seal, installation):
            yield str(seal), wrong
        expected, previous = seal.number + 1, bytes(seal.hash)


def _wrong(seal: Seal, installation: str) -> str:
    header = header_of(seal, installation)
    leaves = _split(bytes(seal.leaves))
    if len(leaves) != header.size:
        return f"has {len(leaves)} leaves for {header.size} rows"
    if hashtree.root(leaves) != header.root:
        return "its root does not follow from its leaves"
    if header.hash != bytes(seal.hash):
        return "its hash does not follow from what it says"
    return ""


def _split(leaves: bytes) -> list[bytes]:
    return [leaves[at : at + hashtree.SIZE] for at in range(0, len(leaves), hashtree.SIZE)]


def leaves_of(seal: Seal) -> Iterator[tuple[str, int, bytes]]:
    """Each sealed row: its kind, its number, and the leaf that was sealed."""
    rows = [(kind, row_id) for kind in KINDS for row_id in getattr(seal, COLUMNS[kind])]
    # A seal with too few leaves is named by `broken_chain`.
    for (kind, row_id), leaf in zip(rows, _split(bytes(seal.leaves)), strict=False):
        yield kind, row_id, leaf


def changed_rows() -> Iterator[Finding]:
    """Sealed rows that are not what they were, or are gone and no receipt names them."""
    purged = {kind: _purged(kind) for kind in KINDS}
    for seal in Seal.objects.order_by("number").iterator(PAGE):
        yield from _differences(seal, purged)


def findings_of(seal: Seal) -> Iterator[Finding]:
    """What does not hold of one seal by itself; a purged row is taken for gone."""
    if wrong := _wrong(seal, str(Installation.objects.get().namespace)):
        yield str(seal), wrong
    for kind in KINDS:
        present = present_leaves(kind, getattr(seal, COLUMNS[kind]))
        for of, row_id, sealed in leaves_of(seal):
            if of == kind and present.get(row_id, sealed) != sealed:
                yield f"{kind} {row_id}", f"was changed after {seal}"


def _purged(kind: str) -> "array[int]":
    """The numbers of all rows of a kind that receipts name, in order: 8 bytes for each."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT unnest({COLUMNS[kind]}) AS id FROM ledgers_purge ORDER BY id")
        return array("q", (number for (number,) in cursor))


def _is_in(numbers: "array[int]", number: int) -> bool:
    at = bisect_left(numbers, number)
    return at < len(numbers) and numbers[at] == number


def _differences(seal: Seal, purged: "dict[str, array[int]]") -> Iterator[Finding]:
    present = {kind: present_leaves(kind, getattr(seal, COLUMNS[kind])) for kind in KINDS}
    for kind, row_id, sealed in leaves_of(seal):
        now = present[kind].get(row_id)
        if now is None and not _is_in(purged[kind], row_id):
            yield f"{kind} {row_id}", f"is gone, and {seal} has it"
        elif now is not None and now != sealed:
            yield f"{kind} {row_id}", f"was changed after {seal}"


def present_leaves(kind: str, ids: list[int]) -> dict[int, bytes]:
    """The leaves of these rows as they are now; none for a row that is not there."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, leaf FROM ledgers_leaves(%s, %s)", [kind, ids])
        return {row_id: bytes(leaf) for row_id, leaf in cursor.fetchall()}


# What is in no seal and waits for none was written while the triggers were lifted.
UNSEALED_ROWS = " UNION ALL ".join(
    f"""
    SELECT '{kind} ' || r.id, 'is in no seal and waits for none' FROM ledgers_{kind} r
    WHERE {"r.closed_at IS NOT NULL" if kind == "attempt" else "true"}
      AND NOT EXISTS (SELECT FROM ledgers_unsealed u WHERE u.kind = '{kind}' AND u.row_id = r.id)
      AND NOT EXISTS (SELECT FROM (SELECT unnest({column}) AS id FROM ledgers_seal) s
                      WHERE s.id = r.id)
    UNION ALL
    SELECT '{kind} ' || u.row_id, 'waits for its seal and is gone' FROM ledgers_unsealed u
    WHERE u.kind = '{kind}' AND NOT EXISTS (SELECT FROM ledgers_{kind} r WHERE r.id = u.row_id)
    UNION ALL
    SELECT '{kind} ' || s.id, 'is sealed ' || count(*) || ' times' FROM (
        SELECT unnest({column}) AS id FROM ledgers_seal) s GROUP BY s.id HAVING count(*) > 1
    """
    for kind, column in COLUMNS.items()
)


# A receipt is bound by its event, which is sealed: nothing is added to what was purged afterwards,
# and no tombstone is forged.
UNBOUND_RECEIPTS = """
    SELECT 'receipt ' || p.id, 'is not what its event says' FROM ledgers_purge p
    WHERE NOT EXISTS (
        SELECT FROM ledgers_event e WHERE e.kind = 'purge'
          AND e.detail->>'receipt' = p.id::text
          AND e.detail->>'sha256' = ledgers_purge_sha256(p.id))
    UNION ALL
    SELECT 'event ' || e.id, 'has no receipt' FROM ledgers_event e
    WHERE e.kind = 'purge'
      AND NOT EXISTS (SELECT FROM ledgers_purge p WHERE p.id::text = e.detail->>'receipt')
    UNION ALL
    SELECT 'run ' || r.run_id, 'was begun again after it was purged' FROM ledgers_run r
    JOIN ledgers_runtombstone t ON t.run_id = r.run_id OR t.trigger_key = r.trigger_key
    UNION ALL
    SELECT 'delivery ' || d.delivery_id, 'was recorded again after it was purged'
    FROM ledgers_delivery d JOIN ledgers_deliverytombstone t ON t.delivery_id = d.delivery_id
"""


def holds_anchor(anchor: Anchor) -> bool:
    """Whether the chain still has this seal. If not, it was rebuilt, or is another ledger's."""
    found = Seal.objects.filter(number=anchor.number).values_list("hash", flat=True).first()
    return found is not None and bytes(found) == anchor.hash
