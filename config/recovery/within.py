"""A process inside a copy that takes orders: `python -m config.recovery.within`.

Reads one JSON object per line, does its `act` (of `config.recovery.acts`), and answers with one
line. It holds no connection between two of them, so that the database may be dropped and restored.
"""

import json
import sys

import django
from django.db import connections


def main() -> None:
    """Until the end of standard input."""
    django.setup()
    from config.recovery.acts import ACTS  # noqa: PLC0415  needs the app registry

    for line in sys.stdin:
        said = json.loads(line)
        answer = ACTS[said.pop("act")](**said)
        connections.close_all()
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
