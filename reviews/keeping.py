"""How much is kept and since when, and whether the newest seals hold: for two pages."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from ledgers import sealcheck, seals
from ledgers.clock import database_now
from ledgers.models import Run, Seal

# Below so many a table is counted, above PostgreSQL's estimate is shown.
COUNTED = 10_000  # as in `_COUNT`
CHECKED = 2  # seals that are built again for the page
TABLES = (
    ("runs", ("ledgers_run",)),
    ("steps, with their results", ("ledgers_step",)),
    ("messages, with their contents", ("ledgers_message",)),
    ("deliveries", ("ledgers_delivery",)),
    ("attempts, with their answers", ("ledgers_attempt",)),
    ("evidence", ("ledgers_evidence",)),
    ("events", ("ledgers_event",)),
    ("reports of providers", ("delivery_receipt",)),
    ("seals", ("ledgers_unsealed", "ledgers_seal")),
    ("receipts and tombstones", ("ledgers_purge", "ledgers_runtombstone",
                                 "ledgers_deliverytombstone")),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Size:
    """One kind of record. `rows`: about, where it is not exact."""

    what: str
    rows: int
    exact: bool
    bytes: int


def sizes() -> list[Size]:
    """What takes room, the indexes included."""
    names = [name for _, tables in TABLES for name in tables]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, reltuples::bigint, pg_total_relation_size(oid) FROM pg_class"
            " WHERE oid = ANY(%s::regclass[])",
            [names],
        )
        known = {name: (about, taken) for name, about, taken in cursor.fetchall()}
        small = [tables[-1] for _, tables in TABLES if known[tables[-1]][0] <= COUNTED]
        cursor.execute(" UNION ALL ".join(_COUNT.format(table=name) for name in small))
        counted = dict(cursor.fetchall())
    return [
        Size(
            what,
            counted.get(tables[-1], known[tables[-1]][0]),
            exact=counted.get(tables[-1], COUNTED) < COUNTED,
            bytes=sum(known[name][1] for name in tables),
        )
        for what, tables in TABLES
    ]


# The last table of a kind is the one whose rows are counted.
_COUNT = "SELECT '{table}', count(*) FROM (SELECT FROM {table} LIMIT 10000) AS first"


def oldest() -> datetime | None:
    """When the first run that is still kept began: runs are numbered as they begin."""
    return Run.objects.order_by("pk").values_list("started_at", flat=True).first()


@dataclass(frozen=True, slots=True)
class Sealing:
    """How far the record is sealed. `wrong`: what does not hold of the newest seals."""

    number: int
    at: datetime | None
    anchor: str
    waiting: int
    checked: int
    checked_at: datetime
    wrong: tuple[str, ...]

    @property
    def waiting_shown(self) -> str:
        return f"{self.waiting}+" if self.waiting == seals.BATCH else str(self.waiting)


def sealing() -> Sealing:
    """Look at the newest seal, and build the newest ones again from their rows."""
    newest = list(Seal.objects.order_by("-number")[:CHECKED])
    found = [finding for seal in newest for finding in sealcheck.findings_of(seal)]
    anchor = seals.newest()
    return Sealing(
        number=newest[0].number if newest else 0,
        at=newest[0].sealed_at if newest else None,
        anchor=str(anchor or ""),
        waiting=seals.waiting(),
        checked=len(newest),
        checked_at=database_now(),
        wrong=tuple(" ".join(finding) for finding in found),
    )
