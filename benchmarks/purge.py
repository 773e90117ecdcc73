"""What sealing and purging cost on a large ledger, and whether anybody has to wait for it.

A ledger of a month is filled (see `filling.py`) and sealed, and what is older than half a month is
purged while an agent goes on recording one run after another. `longest record` is the longest that
agent waited for one run while nothing else happened, and while the purge ran; the ratio of both
says more than the times, which depend on the machine.

    .venv/bin/python benchmarks/purge.py [--rows 100000] [--limit RUNS] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import threading
import time
from pathlib import Path

import installation


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=lambda n: int(float(n)), default=100_000, help="deliveries")
    parser.add_argument("--limit", type=int, help="purge so many runs at most")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--keep", type=Path, help="fill this folder, or use it as it is")
    return parser.parse_args()


ARGUMENTS = _arguments()
os.environ["COUNTERFOIL_RETENTION_DAYS"] = "15"
installation.fresh(ARGUMENTS.keep)

import filling
from django.db import connection, connections

from delivery import agent, retention
from ledgers import seals
from ledgers.models import Delivery

IDLE_S = 5.0
WAITING = """
INSERT INTO ledgers_unsealed (kind, row_id)
SELECT 'event', id FROM ledgers_event
UNION ALL SELECT 'attempt', id FROM ledgers_attempt WHERE closed_at IS NOT NULL
UNION ALL SELECT 'evidence', id FROM ledgers_evidence
ON CONFLICT DO NOTHING"""


class Recorder(threading.Thread):
    """An agent that records one run after another, and how long each took."""

    def __init__(self, name: str) -> None:
        super().__init__(daemon=True)
        self._label = name
        self._over = threading.Event()
        self.took: list[float] = []

    def run(self) -> None:
        number = 0
        while not self._over.is_set():
            number += 1
            began = time.perf_counter()
            with agent.run(f"{self._label}-{number}", agent="recorder") as run:
                message = agent.Message("digest", channel="alerts", to=["tg:1"], content="hello")
                run.step("write").complete({"done": True}, [message])
            self.took.append(time.perf_counter() - began)
        connections.close_all()

    def end(self) -> list[float]:
        self._over.set()
        self.join()
        return self.took


def main() -> None:
    if not Delivery.objects.exists():
        filling.fill(ARGUMENTS.rows)
        with connection.cursor() as cursor:
            cursor.execute(WAITING)
    sealed, seal_s, worst_seal = _seal()
    idle = Recorder(f"idle-{time.time():.0f}")
    idle.start()
    time.sleep(IDLE_S)  # what is measured is that nothing happens meanwhile
    quiet = idle.end()
    busy = Recorder(f"busy-{time.time():.0f}")
    busy.start()
    done, batches = _purge()
    loud = busy.end()
    _print({
        "deliveries": ARGUMENTS.rows,
        "sealed rows per second": round(sealed / seal_s) if sealed else None,
        "longest seal (ms)": round(worst_seal * 1000),
        "purged deliveries": done.deliveries,
        "kept runs": done.kept_runs,
        "purged deliveries per second": round(done.deliveries / sum(batches)),
        "batch, median (ms)": round(statistics.median(batches) * 1000),
        "batch, longest (ms)": round(max(batches) * 1000),
        "record, median idle / purging (ms)": f"{_ms(statistics.median(quiet))}"
                                              f" / {_ms(statistics.median(loud))}",
        "longest record, idle / purging (ms)": f"{_ms(max(quiet))} / {_ms(max(loud))}",
        "longest record, ratio": round(max(loud) / max(quiet), 2),
    })  # fmt: skip


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f}"


def _seal() -> tuple[int, float, float]:
    total, longest, began = 0, 0.0, time.perf_counter()
    while True:
        mark = time.perf_counter()
        sealed = seals.seal()
        longest = max(longest, time.perf_counter() - mark)
        if not sealed:
            return total, time.perf_counter() - began, longest
        total += sealed


def _purge() -> tuple[retention.Plan, list[float]]:
    done, took, mark = retention.Plan(), [], time.perf_counter()
    for sums in retention.purge("benchmark", "to measure it", ARGUMENTS.limit):
        took.append(time.perf_counter() - mark)
        done, mark = sums, time.perf_counter()
    return done, took


def _print(result: dict[str, object]) -> None:
    if ARGUMENTS.json:
        print(json.dumps(result))
        return
    for name, value in result.items():
        print(f"  {name:38} {value}")


if __name__ == "__main__":
    main()
