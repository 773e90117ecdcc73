"""`make conformance`: what every adapter says to every fault, and what the peer saw of it.

`make conformance ADAPTER=slack` takes one alone.
"""

import json
import os
import sys
from collections import defaultdict
from typing import TextIO

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

from tests.conformance.adapters import MADE  # noqa: E402
from tests.conformance.suite import Row, run  # noqa: E402  settings come first

WIDTH = 13


def write(text: str = "", *, file: TextIO = sys.stdout) -> None:
    """One line."""
    file.write(text + "\n")


def main() -> int:
    """Print the table and a verdict; 1 where a call was unsafe."""
    named = [word for word in sys.argv[1:] if word != "--json"]
    if unknown := set(named) - set(MADE):
        write(f"no adapter {', '.join(unknown)}; there are {', '.join(MADE)}", file=sys.stderr)
        return 2
    rows = run(named)
    wrong = [row for row in rows if row.wrong]
    if "--json" in sys.argv[1:]:
        write(json.dumps([_plain(row) for row in rows]))
    else:
        _show(rows)
    for row in wrong:
        write(f"UNSAFE  {row.adapter}, {row.fault}: {row.outcome}: {row.wrong}", file=sys.stderr)
    adapters, faults = len({row.adapter for row in rows}), len({row.fault for row in rows})
    verdict = f"{len(wrong)} unsafe" if wrong else "one submission each, no unsafe word"
    write(f"{len(rows)} calls: {adapters} adapters, {faults} faults: {verdict}", file=sys.stderr)
    return 1 if wrong else 0


def _plain(row: Row) -> dict[str, object]:
    return {name: getattr(row, name) for name in row.__slots__}


def _show(rows: list[Row]) -> None:
    """One table for what speaks HTTP and one for mail; a cell is the outcome and the effects."""
    for mail in (False, True):
        chosen = [row for row in rows if (row.adapter == "email") is mail]
        if not chosen:
            continue
        adapters = list(dict.fromkeys(row.adapter for row in chosen))
        cells: dict[str, dict[str, str]] = defaultdict(dict)
        for row in chosen:
            cells[row.fault][row.adapter] = f"{row.outcome} {row.effects}"
        longest = max(map(len, cells))
        write(f"{'fault':<{longest}}  " + "".join(f"{name:<{WIDTH}}" for name in adapters))
        for fault, said in cells.items():
            write(f"{fault:<{longest}}  " + "".join(f"{said[a]:<{WIDTH}}" for a in adapters))
        write()


if __name__ == "__main__":
    sys.exit(main())
