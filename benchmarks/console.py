"""What the console's pages cost on a large ledger: whole requests, in this process.

A ledger of so many deliveries is filled first (see `filling.py`; a million take some minutes).
Then every page is asked for as a browser would ask, through all of Django's middleware, by somebody
with the role of a triager; the exports by an auditor. `overview (cold)` is asked for with nothing
remembered, and `… first byte` is until the first part of an export has come. Times depend on the
machine, and on what else it does: the processor time says what a page takes by itself. The numbers
of statements and of bytes depend on neither.

    .venv/bin/python benchmarks/console.py [--rows 100000] [--repeat 9] [--json] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import installation


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=lambda n: int(float(n)), default=100_000, help="deliveries")
    parser.add_argument("--repeat", type=int, default=9, help="requests per page")
    parser.add_argument("--json", action="store_true", help="print one object per page")
    parser.add_argument("--only", default="", help="pages whose name contains this")
    parser.add_argument(
        "--keep", type=Path, help="fill this folder, or use it as it was filled before"
    )
    return parser.parse_args()


ARGUMENTS = _arguments()
installation.fresh(ARGUMENTS.keep)

import filling
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ledgers.models import Attempt, Channel, Delivery, Run
from reviews.incidents import ALL as EVERY_UNKNOWN
from reviews.incidents import incidents, places


@dataclass(frozen=True, slots=True)
class Case:
    """One request. `cold`: with nothing remembered; `first_byte`: only until that has come."""

    page: str
    url: str
    role: str = "triager"
    cold: bool = False
    first_byte: bool = False


def main() -> None:
    if not filling.filled():
        filling.fill(ARGUMENTS.rows)
    wanted = [case for case in _cases() if ARGUMENTS.only in case.page]
    results = []
    for case in wanted:
        results.append(_measure(case))
        print(f"{case.page}: {results[-1]['median_ms']} ms", file=sys.stderr, flush=True)
    if ARGUMENTS.json:
        print(json.dumps(results))
    else:
        _show(results)


def _cases() -> Iterator[Case]:
    yield Case("overview (cold)", reverse("admin:overview"), cold=True)
    yield Case("overview", reverse("admin:overview"))
    yield Case("overview (refresh)", reverse("admin:overview_live"))
    yield from _lists()
    yield from _triage()
    yield from _records()
    yield from _trail()
    for name in ("approvals", "channels", "credentials"):
        yield Case(name, reverse(f"admin:{name}"))
    yield Case("channel", reverse("admin:channel", args=["orders-mail"]))
    yield Case("channel, not used lately", reverse("admin:channel", args=["fax-gateway"]))
    yield Case("attention: overdue", reverse("admin:concern", args=["overdue"]))
    yield from _jumps()
    for form in ("csv", "jsonl", "bundle"):
        url = reverse("admin:trail_export", args=[form])
        yield Case(f"export {form}, first byte", url, role="auditor", first_byte=True)


def _lists() -> Iterator[Case]:
    url = reverse("admin:ledgers_delivery_changelist")
    yield Case("list", url)
    for name, query in _filters().items():
        yield Case(f"list, {name}", f"{url}?{urlencode(query)}")
    for model in ("run", "event", "attempt", "evidence", "message", "step", "outboxitem"):
        yield Case(f"list of {model}s", reverse(f"admin:ledgers_{model}_changelist"))


def _filters() -> dict[str, dict[str, Any]]:
    last, some = Delivery.objects.latest("pk"), _delivered()
    run, ways = some.message.step.run, dict(Channel.objects.values_list("slug", "pk"))
    statuses = ("pending", "submitting", "unknown", "delivered", "failed", "expired", "cancelled")
    return {
        "page 190": {"p": 190},
        **{f"status {status}": {"status__exact": status} for status in statuses},
        "channel": {"message__channel__id__exact": ways["orders-mail"]},
        "channel not used lately": {"message__channel__id__exact": ways["fax-gateway"]},
        "channel and status": {
            "message__channel__id__exact": ways["fax-gateway"], "status__exact": "failed",
        },
        "run": {"message__step__run__id__exact": run.pk},
        "search: delivery id": {"q": some.delivery_id},
        "search: id's beginning": {"q": str(some.delivery_id)[:8]},
        "search: provider id": {"q": some.provider_message_id},
        "search: key": {"q": some.idempotency_key},
        "search: recognizer": {"q": last.recognizer},
        "search: run id": {"q": run.run_id},
        "search: run of 10,000": {"q": "R-broadcast"},
        "search: destination": {"q": some.destination},
        "search: beginning, many": {"q": "customer1"},
        "search: beginning, few": {"q": "fax:1"},
        "search: domain": {"q": "@company694.test"},
        "search: host": {"q": "hooks150.example.com"},
        "search: no such thing": {"q": "nobody@nowhere.test"},
    }  # fmt: skip


def _triage() -> Iterator[Case]:
    url = reverse("admin:triage")
    yield Case("triage", url)
    page = places(EVERY_UNKNOWN, limit=51)
    if len(page) > 50:
        yield Case("triage, next page", f"{url}?{urlencode({'after': page[49].cursor})}")
    one = max(incidents(), key=lambda i: i.count)
    yield Case("triage, one incident", f"{url}?{urlencode(one.fields)}")


def _records() -> Iterator[Case]:
    unknown = Delivery.objects.filter(status="unknown").order_by("unknown_since")
    many = Delivery.objects.filter(message__name="broadcast", status="unknown").first()
    for name, row in (("delivery, delivered", _delivered()), ("delivery", unknown[20]),
                      ("delivery, one of 10,000", many)):  # fmt: skip
        if row:
            yield Case(name, reverse("admin:delivery", args=[row.delivery_id]))
    yield Case("run", reverse("admin:run", args=[_delivered().message.step.run_id]))
    broadcast = Run.objects.filter(run_id="R-broadcast").first()
    if broadcast:
        url = reverse("admin:run", args=[broadcast.pk])
        yield Case("run of 10,000", url)
        yield Case("run of 10,000, delivered", f"{url}?status=delivered")
    yield Case("record of a delivery", _record(_delivered()))
    yield Case("record of an attempt", _record(Attempt.objects.latest("pk")))


def _record(row: Any) -> str:
    name = row._meta.model_name
    return reverse(f"admin:ledgers_{name}_change", args=[row.pk])


def _trail() -> Iterator[Case]:
    url, some = reverse("admin:trail"), _delivered()
    queries = {
        "": {}, "all": {"since": "all"}, "people": {"people": "only"},
        "person": {"person": "ann"}, "kind": {"kind": "fail"},
        "a kind that is not there": {"kind": "nonsense", "since": "all"},
        "credential": {"credential": "benchmark"}, "scope": {"scope": "chat:write"},
        "destination": {"destination": some.destination, "since": "all"},
        "destinations": {"destination": "fax:1*", "since": "all"},
        "delivery": {"delivery": some.delivery_id, "since": "all"},
        "run": {"run": "R-broadcast"},
        "hour": {"hour": f"{some.created_at:%Y-%m-%dT%H}"},
    }  # fmt: skip
    for name, query in queries.items():
        yield Case(f"trail, {name}" if name else "trail", f"{url}?{urlencode(query)}")


def _jumps() -> Iterator[Case]:
    url, some = reverse("admin:jump"), _delivered()
    terms = {"id": some.delivery_id, "run": some.message.step.run.run_id,
             "destination": some.destination, "no such thing": "nobody@nowhere.test"}  # fmt: skip
    for name, term in terms.items():
        yield Case(f"jump: {name}", f"{url}?{urlencode({'q': term})}")


def _delivered() -> Delivery:
    """One of the middle of the month."""
    middle = Delivery.objects.latest("pk").pk // 2
    return Delivery.objects.filter(pk__gt=middle, status="delivered").order_by("pk")[0]


def _measure(case: Case) -> dict[str, Any]:
    browser = Client(SERVER_NAME="localhost")
    browser.force_login(User.objects.get(username=case.role),
                        backend="django.contrib.auth.backends.ModelBackend")  # fmt: skip
    status, size = _ask(browser, case)
    if status not in {200, 302}:
        print(f"{case.page}: answered {status}", file=sys.stderr)
    times, cpu = [], _cpu_ms()
    for _ in range(ARGUMENTS.repeat):
        if case.cold:
            cache.clear()
        began = time.perf_counter()
        _ask(browser, case)
        times.append((time.perf_counter() - began) * 1000)
    cpu = (_cpu_ms() - cpu) / ARGUMENTS.repeat
    with CaptureQueriesContext(connection) as seen:
        if case.cold:
            cache.clear()
        _ask(browser, case)
    return {
        "page": case.page,
        "median_ms": round(statistics.median(times), 1),
        "p95_ms": round(statistics.quantiles(times, n=20, method="inclusive")[18], 1),
        "cpu_ms": round(cpu, 1),
        "queries": len(seen),
        "bytes": size,
        "status": status,
    }


def _cpu_ms() -> float:
    """Processor time of this process and of its database session; not of parallel workers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        fields = Path(f"/proc/{cursor.fetchone()[0]}/stat").read_text().rpartition(")")[2].split()
    session = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    return (time.process_time() + session) * 1000


def _ask(browser: Client, case: Case) -> tuple[int, int]:
    """The answer's status, and how many bytes came."""
    answer: Any = browser.get(case.url)
    if not case.first_byte:
        return answer.status_code, len(answer.content)
    size = len(next(iter(answer.streaming_content)))
    answer.close()
    return answer.status_code, size


def _show(results: list[dict[str, Any]]) -> None:
    load = os.getloadavg()[0]
    print(f"{filling.filled():,} deliveries; {os.cpu_count()} CPUs, load {load:.1f}")
    print(f"{'page':32}{'median ms':>10}{'p95 ms':>9}{'CPU ms':>9}{'statements':>12}{'bytes':>10}")
    for r in results:
        answered = "" if r["status"] == 200 else f"   {r['status']}"
        print(
            f"{r['page']:32}{r['median_ms']:>10.1f}{r['p95_ms']:>9.1f}{r['cpu_ms']:>9.1f}"
            f"{r['queries']:>12}{r['bytes']:>10,}{answered}"
        )


if __name__ == "__main__":
    main()
