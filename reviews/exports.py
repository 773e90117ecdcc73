"""The trail as it leaves the house: CSV, JSON Lines, or a bundle with all the evidence.

Everything is made row by row while it is sent. Contents are in none of them; their hashes are.
"""

import csv
import hashlib
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from datetime import datetime
from io import StringIO
from itertools import islice
from typing import Any

from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce

from ledgers import proofs
from ledgers.clock import database_now
from ledgers.models import Attempt, Delivery, Event, Evidence, Installation

CHUNK = 500
COLUMNS = ("event", "at", "kind", "person", "run", "delivery", "destination", "channel",
           "from_status", "to_status", "rule", "attempt", "credential", "fingerprint",
           "scopes_granted", "scopes_used", "destination_rule", "detail")  # fmt: skip
# The wide ones are read like the others by spreadsheets of some languages.
FORMULA = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
PHONE = re.compile(r"\+[1-9][0-9]{6,14}")
Row = dict[str, Any]


def rows(events: QuerySet[Event]) -> Iterator[Row]:
    """Each event with the authority of its attempt, as plain values."""
    named = events.annotate(
        run_name=Coalesce("run__run_id", "delivery__message__step__run__run_id"),
        delivery_name=F("delivery__delivery_id"),
        destination=F("delivery__destination"),
        channel=F("delivery__message__channel__slug"),
        attempt_number=F("attempt__number"),
        authority=F("attempt__authority"),
    ).values(
        "pk", "at", "kind", "actor", "run_name", "delivery_name", "destination", "channel",
        "from_status", "to_status", "rule", "attempt_number", "authority", "detail",
    )  # fmt: skip
    return (_row(dict(found)) for found in _in_chunks(named, "pk"))


def _in_chunks(found: QuerySet[Any, Any], key: str, *, backwards: bool = True) -> Iterator[Row]:
    """Rows in the order of their ids, some at a time, each lot after the last of the one before.

    A cursor outside a transaction would first put the whole answer aside, and keep its reader
    waiting for that.
    """
    after = "pk__lt" if backwards else "pk__gt"
    ordered = rest = found.order_by("-pk" if backwards else "pk")
    while lot := list(rest[:CHUNK]):
        yield from lot
        if len(lot) < CHUNK:
            return
        rest = ordered.filter(**{after: lot[-1][key]})


def _row(found: Row) -> Row:
    authority = found["authority"] or {}
    kept = {name: found[name] for name in ("from_status", "to_status", "rule", "detail")}
    granted = {
        name: authority.get(name)
        for name in ("credential", "fingerprint", "scopes_granted", "scopes_used")
    }
    return {
        "event": found["pk"],
        "at": found["at"].isoformat(),
        "kind": found["kind"],
        "person": found["actor"],
        "run": found["run_name"],
        "delivery": str(found["delivery_name"] or ""),
        "destination": found["destination"],
        "channel": found["channel"],
        "attempt": found["attempt_number"],
        "destination_rule": authority.get("destination_rule"),
        **kept,
        **granted,
    }


def as_csv(events: QuerySet[Event], _: Row) -> Iterator[bytes]:
    """A table, whose cells no spreadsheet takes for a formula."""
    line = StringIO()
    # Each in quotation marks: where a comma is part of numbers, a spreadsheet splits at semicolons.
    writer = csv.writer(line, quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    for row in rows(events):
        writer.writerow([cell(row[name]) for name in COLUMNS])
        if line.tell() > 16_384:
            yield _taken(line)
    yield _taken(line)


def _taken(line: StringIO) -> bytes:
    text = line.getvalue()
    line.seek(0)
    line.truncate()
    return text.encode()


def cell(value: object) -> str:
    """A value as a cell. One that begins like a formula gets an apostrophe; a phone number not."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else _spelled(value)
    if text[:1] in FORMULA and not PHONE.fullmatch(text):
        return "'" + text
    return text


def _spelled(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def as_json_lines(events: QuerySet[Event], _: Row) -> Iterator[bytes]:
    """One JSON object per line."""
    return (_line(row) for row in rows(events))


def _line(row: Row) -> bytes:
    return json.dumps(row, ensure_ascii=False, sort_keys=True, default=_plain).encode() + b"\n"


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def as_bundle(events: QuerySet[Event], asked: Row) -> Iterator[bytes]:
    """A ZIP file: the events, and of their deliveries all attempts and evidence; with hashes.

    And what proves them to `docs/check_bundle.py`: each in the words that were sealed, and all
    seals from the first that is needed.
    """
    proven = _Proven()
    ids = events.order_by().exclude(delivery=None).values("delivery_id")
    files: dict[str, Iterator[Row]] = {
        "events.jsonl": rows(events),
        "deliveries.jsonl": _values(Delivery.objects.filter(pk__in=ids), hidden=()),
        "attempts.jsonl": _values(Attempt.objects.filter(delivery__in=ids), ("response",)),
        "evidence.jsonl": _values(Evidence.objects.filter(delivery__in=ids), ("response",)),
        "records.jsonl": proven.records({
            "event": events,
            "attempt": Attempt.objects.filter(delivery__in=ids).exclude(closed_at=None),
            "evidence": Evidence.objects.filter(delivery__in=ids),
        }),
        "seals.json": proven.seals(),
    }  # fmt: skip
    sink, hashes = _Sink(), {}
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, lines in files.items():
            digest = hashlib.sha256()
            with archive.open(name, "w", force_zip64=True) as file:
                for row in lines:
                    line = _line(row)
                    digest.update(line)
                    file.write(line)
                    if sink.waiting:
                        yield sink.taken()
            hashes[name] = digest.hexdigest()
        archive.writestr("manifest.json", json.dumps(_manifest(asked, hashes), indent=1))
    yield sink.taken()


class _Proven:
    """The proofs, row by row; then the seals that they need."""

    def __init__(self) -> None:
        self._first = 0

    def records(self, found: dict[str, QuerySet[Any]]) -> Iterator[Row]:
        for kind, rows in found.items():
            ids = (row["pk"] for row in _in_chunks(rows.values("pk"), "pk", backwards=False))
            while some := list(islice(ids, CHUNK)):
                for record in proofs.records(kind, some):
                    seal = record["seal"] or self._first
                    self._first = min(self._first or seal, seal)
                    yield record

    def seals(self) -> Iterator[Row]:
        """None where nothing of it is sealed yet."""
        yield proofs.chain(self._first) if self._first else {}


def _manifest(asked: Row, hashes: dict[str, str]) -> Row:
    installation = Installation.objects.get()
    return {
        "made_at": database_now().isoformat(),
        "installation": str(installation.namespace),
        "asked": asked,
        "sha256": hashes,
        "contents": "left out; their hashes are in the rows",
    }


def _values(found: QuerySet[Any], hidden: tuple[str, ...]) -> Iterator[Row]:
    for row in _in_chunks(found.values(), "id", backwards=False):
        for name in hidden:
            row[f"{name}_sha256"] = hashlib.sha256(row.pop(name).encode()).hexdigest()
        yield row


class _Sink:
    """A file that cannot be rewound: what is written waits until it is taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes, /) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing is kept back."""

    def close(self) -> None:
        """Nothing is open."""

    @property
    def waiting(self) -> bool:
        return bool(self._parts)

    def taken(self) -> bytes:
        data, self._parts = b"".join(self._parts), []
        return data


FORMATS: dict[str, tuple[str, str, Callable[[QuerySet[Event], Row], Iterator[bytes]]]] = {
    "csv": ("text/csv; charset=utf-8", "csv", as_csv),
    "jsonl": ("application/x-ndjson", "jsonl", as_json_lines),
    "bundle": ("application/zip", "zip", as_bundle),
}
