"""`python -m tests.model`: explore every setup on two processes and say what was found.

`--json`: as one line of JSON. `--most N`: states per setup after which no further level is begun.
`--faults`: instead, the shortest trace of every protocol that is broken on purpose.
"""

import argparse
import json
import sys
import time
from typing import Any

from tests.model.running import explore_all, ready


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--most", type=int, default=0)
    parser.add_argument("--faults", action="store_true")
    options = parser.parse_args()
    if options.faults:
        return tell_faults()
    begun = time.monotonic()
    reports = explore_all(options.most)
    total = {
        "setups": reports,
        "states": sum(r["states"] for r in reports),
        "broken": [r["setup"] for r in reports if r["broken"]],
        "seconds": round(time.monotonic() - begun, 1),
    }
    print(json.dumps(total) if options.json else _told(total))  # noqa: T201  it is a program
    return 1 if total["broken"] else 0


def tell_faults() -> int:
    ready()
    from tests.model.faults import FAULTS, found, told

    for fault in FAULTS:
        print(told(fault, found(fault)), flush=True)  # noqa: T201  it is a program
    return 0


def _told(total: dict[str, Any]) -> str:
    lines = []
    for r in total["setups"]:
        extent = "all" if r["whole"] else f"to step {r['depth']}"
        lines.append(f"{r['setup']:45} {r['states']:>9,} states {r['steps']:>10,} steps  {extent}")
        lines += [f"    {count:>9,}  {what}" for what, count in sorted(r["residual"].items())]
        lines += [f"    BROKEN: {r['broken']}", *r["trace"]] if r["broken"] else []
    return "\n".join([*lines, f"{total['states']:,} distinct states in {total['seconds']} s"])


if __name__ == "__main__":
    sys.exit(main())
