"""`python -m config.embedded start|status|stop FOLDER...`: the embedded servers, without Django."""

import argparse
import sys
from pathlib import Path

from config.embedded import launcher, postmaster
from config.embedded.cluster import Cluster
from config.embedded.errors import EmbeddedError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m config.embedded", description=__doc__)
    parser.add_argument("action", choices=["start", "status", "stop"])
    parser.add_argument("folders", nargs="*", type=Path, help="data folders, such as .data/main")
    given = parser.parse_args()
    if not given.folders:
        sys.stdout.write("no data folder: nothing to do\n")
    try:
        for folder in given.folders:
            sys.stdout.write(f"{folder}: {_act(given.action, Cluster(folder.resolve()))}\n")
    except EmbeddedError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _act(action: str, cluster: Cluster) -> str:
    if action == "start":
        launcher.ensure_running(cluster)
    elif action == "stop":
        return "PostgreSQL stopped" if launcher.stop(cluster) else "no PostgreSQL was running"
    pid = postmaster.running(cluster)
    return f"PostgreSQL runs as process {pid}" if pid else "no PostgreSQL is running"


if __name__ == "__main__":
    sys.exit(main())
