"""Recording one message for many destinations in one call: time, and memory beside a small roster.

.venv/bin/python benchmarks/record.py [--count 10000] [--json]
"""

import argparse
import json
import resource
import sys
import time

import installation

installation.fresh()


from delivery import agent
from ledgers.models import Channel, Delivery


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000, help="destinations")
    parser.add_argument("--json", action="store_true", help="print one object")
    arguments = parser.parse_args()
    channel = installation.channel("record", "webhook", {})
    _record(channel, 100)
    before = _peak_mb()
    began = time.perf_counter()
    _record(channel, arguments.count)
    seconds = time.perf_counter() - began
    made = Delivery.objects.filter(message__channel=channel).count()
    if made != arguments.count + 100:
        sys.exit(f"{made} deliveries were made")
    result = {
        "destinations": arguments.count,
        "seconds": round(seconds, 2),
        "destinations_per_s": round(arguments.count / seconds),
        "extra_peak_memory_mb": round(_peak_mb() - before, 1),
    }
    if arguments.json:
        print(json.dumps(result))
    else:
        print("\n".join(f"  {name.replace('_', ' '):24} {value}" for name, value in result.items()))


def _record(channel: Channel, count: int) -> None:
    with agent.run(f"record-{time.time_ns()}", agent="benchmark") as run:
        to = [f"https://hooks.example.com/team/{number}" for number in range(count)]
        run.step("write").complete(None, [agent.Message("note", channel.slug, to, {"text": "hi"})])


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
