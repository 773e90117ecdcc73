"""Deliveries per second through everything, beside a bare loop of the same HTTP client.

In one run, on one machine: a recipient process on the loopback address, one worker process with
32 calls at a time and default durability, and two bare loops (pooled `requests`, pooled `urllib3`,
32 threads each) that send the same bytes to the same recipient and record nothing. The ratio is
what can be compared between machines; the rates cannot.

    .venv/bin/python benchmarks/throughput.py [--count 3000] [--json]
"""

import argparse
import json
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import installation

installation.fresh()

import requests
import urllib3
from django.db import connection

from delivery import agent
from delivery.simulator.client import Simulator
from delivery.worker import Worker
from ledgers import verify
from ledgers.models import Channel, Delivery

CONCURRENCY = 32
ROUNDS = 3
LOCAL = {"allow_private": True, "allow_http": True}


def main() -> None:
    arguments = _arguments()
    with Simulator.start() as recipient:
        channel = installation.channel("benchmark", "webhook", LOCAL)
        results = [_round(recipient, channel, arguments.count) for _ in range(ROUNDS)]
    best = sorted(results, key=lambda r: r["ratio_to_requests"])[len(results) // 2]
    if arguments.json:
        print(json.dumps(best))
    else:
        _show(best, arguments.count)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=3000, help="deliveries per round")
    parser.add_argument("--json", action="store_true", help="print one object")
    return parser.parse_args()


def _round(recipient: Simulator, channel: Channel, count: int) -> dict[str, float]:
    bare_requests = _rate(lambda: _bare(_requests_loop, recipient, count), count)
    bare_urllib3 = _rate(lambda: _bare(_urllib3_loop, recipient, count), count)
    _record(recipient, channel, count)
    connection.close()
    syncs, cpu = _wal_syncs(), _cpu_ms()
    began = time.perf_counter()
    settled = Worker("shift", CONCURRENCY).run_shift(600)
    seconds = time.perf_counter() - began
    cpu, syncs = _cpu_ms() - cpu, _wal_syncs() - syncs
    _check(channel, count, settled)
    rate = count / seconds
    return {
        "deliveries_per_s": round(rate, 1),
        "ratio_to_requests": round(rate / bare_requests, 3),
        "ratio_to_urllib3": round(rate / bare_urllib3, 3),
        "wal_syncs_per_delivery": round(syncs / count, 3),
        "cpu_ms_per_delivery": round(cpu / count, 3),
        "requests_per_s": round(bare_requests, 1),
        "urllib3_per_s": round(bare_urllib3, 1),
    }


def _record(recipient: Simulator, channel: Channel, count: int) -> None:
    with agent.run(f"benchmark-{time.time_ns()}", agent="benchmark") as run:
        step = run.step("write")
        to = [recipient.hook(f"room:{number}") for number in range(count)]
        step.complete(None, [agent.Message("note", channel.slug, to, {"text": "x" * 200})])


def _check(channel: Channel, count: int, settled: int) -> None:
    """A rate of deliveries that did not arrive would be no rate."""
    open_rows = Delivery.objects.filter(message__channel=channel).exclude(status="delivered")
    if settled < count or open_rows.exists():
        sys.exit(f"only {settled} of {count} were settled, {open_rows.count()} are not delivered")
    broken = [v.name for v in verify.broken(verify.verify())]
    if broken:
        sys.exit(f"broken invariants: {broken}")


def _rate(work: Callable[[], None], count: int) -> float:
    began = time.perf_counter()
    work()
    return count / (time.perf_counter() - began)


def _bare(loop: Callable[[Iterator[str], bytes], None], recipient: Simulator, count: int) -> None:
    """32 threads that take addresses from one iterator."""
    addresses = _Locked(recipient.hook(f"bare:{number}") for number in range(count))
    body = json.dumps({"text": "x" * 200, "ref": "dlv" + "x" * 20}).encode()
    threads = [threading.Thread(target=loop, args=(addresses, body)) for _ in range(CONCURRENCY)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class _Locked(Iterator[str]):
    def __init__(self, items: Iterator[str]) -> None:
        self._items, self._lock = items, threading.Lock()

    def __next__(self) -> str:
        with self._lock:
            return next(self._items)


_HEADERS = {"Content-Type": "application/json", "Idempotency-Key": "benchmark"}
_session: Any = None


def _requests_loop(addresses: Iterator[str], body: bytes) -> None:
    with requests.Session() as session:
        for address in addresses:
            session.post(address, data=body, headers=_HEADERS, timeout=10).raise_for_status()


_pool = urllib3.PoolManager(maxsize=CONCURRENCY, retries=False)


def _urllib3_loop(addresses: Iterator[str], body: bytes) -> None:
    for address in addresses:
        answer = _pool.request("POST", address, body=body, headers=_HEADERS, timeout=10)
        if answer.status >= 300:
            sys.exit(f"the recipient answered {answer.status}")


def _wal_syncs() -> int:
    """How often the server has waited for its write-ahead log to reach the disk."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SHOW server_version_num")
        version = int(cursor.fetchone()[0])
        cursor.execute(
            "SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal'"
            if version >= 180000
            else "SELECT wal_sync FROM pg_stat_wal"
        )
        return int(cursor.fetchone()[0] or 0)


def _cpu_ms() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return (usage.ru_utime + usage.ru_stime) * 1000


def _show(result: dict[str, float], count: int) -> None:
    print(f"{count} deliveries, {CONCURRENCY} at a time, the middle of {ROUNDS} rounds")
    print(f"  through Counterfoil       {result['deliveries_per_s']:8.0f} per second")
    print(f"  bare requests             {result['requests_per_s']:8.0f} per second")
    print(f"  bare urllib3              {result['urllib3_per_s']:8.0f} per second")
    print(f"  ratio to requests         {result['ratio_to_requests']:8.2f}")
    print(f"  ratio to urllib3          {result['ratio_to_urllib3']:8.2f}")
    print(f"  WAL syncs per delivery    {result['wal_syncs_per_delivery']:8.2f}")
    print(f"  worker's CPU per delivery {result['cpu_ms_per_delivery']:8.2f} ms")


if __name__ == "__main__":
    main()
