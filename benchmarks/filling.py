"""A ledger of a month, filled quickly: believable in its proportions, not in its identities.

One delivery in two hundred became unknown, in 25 incidents; a few in a thousand failed, expired or
were cancelled; the last ones are still owed. Ten destinations per run, and one run with 10,000.
Ids, keys and hashes are no derived ones. The database's CHECK constraints hold for every row;
triggers are off while it is filled.
"""

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import installation
from django.contrib.auth.models import Group, User
from django.db import connection

from delivery.channels.registry import adapter_for
from ledgers.models import Channel, Delivery, Run

CHUNK = 100_000
PER_RUN = 10
BROADCAST = 10_000  # destinations of one run
INCIDENTS = 25
DAYS, DAY_S = 30, 86_400
PEOPLE = ("ann", "bob", "cem", "dia", "eve")
SENDER = {"path": "delivery.samples.write"}
LOOKING = {"look_up_path": "delivery.samples.look_up", "look_up_authoritative": True}


@dataclass(frozen=True, slots=True)
class Way:
    """A channel; `to`: a destination as SQL, of the delivery's number `n`."""

    slug: str
    adapter: str
    settings: dict[str, Any]
    to: str


# The seventh is one that nobody has used since the first days of the month.
WAYS = (
    Way("orders-mail", "function", SENDER | LOOKING | {"dedupe_window_s": 86_400},
        "'customer' || n * 7919 % 200003 || '@company' || n * 31 % 997 || '.test'"),
    Way("invoices-mail", "function", SENDER,
        "'accounts' || n * 104729 % 50021 || '@company' || n * 17 % 997 || '.test'"),
    Way("hooks", "webhook", {"dedupe_window_s": 172_800},
        "'https://hooks' || n * 13 % 211 || '.example.com/team/' || n * 7919 % 100003"),
    Way("partners", "webhook", {},
        "'https://api.partner' || n * 13 % 53 || '.test/v2/events/' || n % 100003"),
    Way("alerts", "function", SENDER | {"dedupe_window_s": 3_600}, "'tg:' || 1000 + n % 80021"),
    Way("phones", "function", SENDER, "'+4917' || lpad((n * 7919 % 90000049)::text, 8, '0')"),
    Way("fax-gateway", "function", SENDER, "'fax:' || n * 7919 % 10007 || '@fax.old.test'"),
)  # fmt: skip

TO = f"CASE w.nth {' '.join(f'WHEN {n} THEN {way.to}' for n, way in enumerate(WAYS))} END".replace(
    "%", "%%"
)
PAYLOAD = json.dumps({"text": "Your order has left our house. " * 8})
# As long as what a rule sees usually is.
INPUTS = json.dumps({"now": "2026-11-29T12:00:00Z", "policy": {f"fact_{n}": n for n in range(40)}})
AUTHORITY = json.dumps({
    "credential": "benchmark", "fingerprint": "none", "scopes_granted": ["chat:write"],
    "scopes_used": ["chat:write"], "destination_rule": "*",
})  # fmt: skip


def fill(rows: int) -> None:
    """Fill the empty ledgers, with so many deliveries in all."""
    _execute("ALTER SYSTEM SET max_wal_size = '8GB'")
    _execute("SELECT pg_reload_conf()")
    _execute("SET session_replication_role = replica; SET synchronous_commit = off")
    _ways()
    usual = rows - BROADCAST if rows > 2 * BROADCAST else rows
    _deliveries(usual)
    if usual < rows:
        _run("broadcast", {"count": BROADCAST})
    _run("generations", {})
    _past(Delivery.objects.latest("pk").pk)
    _people()
    _execute("SET session_replication_role = origin; SET synchronous_commit = on")
    _execute("VACUUM ANALYZE")


def _ways() -> None:
    _run("ways", {})
    _run("moments", {})
    for nth, way in enumerate(WAYS):
        row = installation.channel(way.slug, way.adapter, way.settings)
        declared = json.dumps(adapter_for(row).declare().frozen())
        _execute("INSERT INTO ways VALUES (%s, %s, %s)", [nth, row.pk, declared])
    Channel.objects.filter(slug="partners").update(requires_approval=True)


def _deliveries(count: int) -> None:
    """Runs with one step and one message each, and ten deliveries of each message."""
    messages = -(-count // PER_RUN)
    values = {"messages": messages, "payload": PAYLOAD, "span": DAYS * DAY_S / messages}
    for name in ("runs", "steps", "messages"):
        _run(name, values)
    numbers = {
        "rows": count,
        "span": DAYS * DAY_S / count,
        "period": max(40, count // INCIDENTS),
        "burst": max(2, count // 5_000),
        "owed": count - count // 500,
        "on_wire": count - 20,
    }
    for first in range(1, count + 1, CHUNK):
        last = min(first + CHUNK - 1, count)
        _run("deliveries", numbers | {"first": first, "last": last})
        print(f"filled: {last:,} deliveries", file=sys.stderr, flush=True)


def _past(last: int) -> None:
    """What the deliveries' statuses stand on: attempts, evidence, the trail, the queue."""
    for name in ("attempts", "events"):
        for first in range(1, last + 1, CHUNK):
            span = {"first": first, "last": first + CHUNK - 1}
            _run(name, span | {"inputs": INPUTS, "authority": AUTHORITY})
        print(f"filled: {name}", file=sys.stderr, flush=True)
    _run("rest", {"people": list(PEOPLE)})


def _run(name: str, values: dict[str, Any]) -> None:
    """The statements whose name begins so, in their order."""
    for title, statement in STATEMENTS:
        if title.startswith(name):
            _execute(statement.replace("{to}", TO), values)


def _execute(statement: str, values: Any = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def _read(text: str) -> list[tuple[str, str]]:
    """Each statement with the comment above it."""
    parts = re.split(r"^-- (.*)\n", text, flags=re.MULTILINE)[1:]
    return [(title, sql) for title, sql in zip(parts[::2], parts[1::2], strict=True) if sql.strip()]


def _people() -> None:
    for role in ("triager", "auditor"):
        person, _ = User.objects.get_or_create(username=role, defaults={"is_staff": True})
        person.groups.add(Group.objects.get(name=role))


def filled() -> int:
    """How many deliveries there are, as far as the planner knows; exact when few."""
    return Delivery.objects.count() if Run.objects.exists() else 0


STATEMENTS = _read(Path(__file__).with_suffix(".sql").read_text())
