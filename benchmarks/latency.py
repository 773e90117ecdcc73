"""From the commit of a recording to the first byte at the recipient, in milliseconds.

Three ways: an idle `manage.py deliver`; the same with every wake-up lost, so that only polling is
left; and shifts under `manage.py qcluster`. Recorder, worker and recipient share one machine and
so one clock.

    .venv/bin/python benchmarks/latency.py [--count 40] [--json]
"""

import argparse
import json
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import installation

installation.fresh()

from django.test import override_settings

from delivery import agent, tasks
from delivery.simulator.client import Simulator
from ledgers import outbox
from ledgers.models import Channel


def main() -> None:
    arguments = _arguments()
    with Simulator.start() as recipient:
        channel = installation.channel("latency", "simulator", {"url": recipient.url})
        with _process("deliver"):
            resident = _measure(recipient, channel, arguments.count)
            with mock.patch.object(outbox, "notify"):
                lost = _measure(recipient, channel, arguments.count)
        with (
            _process("qcluster"),
            mock.patch.object(outbox, "notify"),
            override_settings(COUNTERFOIL_QCLUSTER=True),
        ):
            # As many as the cluster can take: one hint a second is all that a process sends.
            cluster = _measure(recipient, channel, arguments.count, pause_s=1.1)
    result = {
        "resident_ms": _figures(resident),
        "every_wake_up_lost_ms": _figures(lost),
        "qcluster_ms": _figures(cluster),
    }
    print(json.dumps(result) if arguments.json else _table(result))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=40, help="recordings per way")
    parser.add_argument("--json", action="store_true", help="print one object")
    return parser.parse_args()


@contextmanager
def _process(command: str) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, str(installation.ROOT / "manage.py"), command], stdout=subprocess.DEVNULL
    ) as process:
        time.sleep(4)  # both start within two seconds; an idle worker is what is measured
        yield
        process.send_signal(signal.SIGTERM)


def _measure(
    recipient: Simulator, channel: Channel, count: int, pause_s: float = 0.23
) -> list[float]:
    """The pause is no divisor of the polling interval, so that every phase of it is met."""
    times = []
    for number in range(count):
        to = f"room:{time.time_ns()}-{number}"
        tasks._last_hint = 0.0  # each recording stands for one of another process
        with agent.run(f"latency-{time.time_ns()}", agent="benchmark") as run:
            run.step("write").complete(None, [agent.Message("note", channel.slug, [to], "hello")])
            committed = time.time()
        recipient.wait_for("submissions", 1, to=to, timeout_s=70)
        times.append((recipient.last_submissions(to)[0]["at"] - committed) * 1000)
        time.sleep(pause_s)
    return times


def _figures(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {
        "median": round(statistics.median(ordered), 1),
        "p90": round(ordered[int(len(ordered) * 0.9)], 1),
        "max": round(ordered[-1], 1),
    }


def _table(result: dict[str, dict[str, float]]) -> str:
    lines = [f"{'from commit to first byte, ms':32}{'median':>9}{'p90':>9}{'max':>9}"]
    for name, figures in result.items():
        label = name.removesuffix("_ms").replace("_", " ")
        lines.append(
            f"  {label:30}" + "".join(f"{figures[k]:9.1f}" for k in ("median", "p90", "max"))
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
