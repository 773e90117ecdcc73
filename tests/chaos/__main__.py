"""`python -m tests.chaos`: strike everything at random for a while, and account for every row."""

import argparse
import os
import secrets
import shutil
import sys
import tempfile
from pathlib import Path

import django

from tests.ground.server import Server


def main() -> int:
    """0: every invariant holds. 1: something is broken; what the processes wrote is kept."""
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    sys.stdout.write(f"seed {options.seed}, {options.seconds:g} s, in {folder}\n")
    sys.stdout.flush()
    broken = _run(options, folder)
    if broken or options.keep:
        sys.stdout.write(f"logs and data are kept in {folder}\n")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return int(broken)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long (%(default)s)")
    parser.add_argument(
        "--seed", type=int, default=secrets.randbelow(10_000), help="which faults; random if left"
    )
    parser.add_argument("--keep", action="store_true", help="keep logs and data in any case")
    return parser.parse_args()


def _run(options: argparse.Namespace, folder: Path) -> bool:
    server = Server(folder / "data")
    server.start()  # the settings name its socket, and Django connects to it
    try:
        return _run_on(server, options, folder)
    finally:
        server.stop()


def _run_on(server: Server, options: argparse.Namespace, folder: Path) -> bool:
    _configure(server, folder)
    from tests.chaos.report import report
    from tests.chaos.run import Runner
    from tests.ground.scene import Scene

    with Scene(folder) as scene:
        scene.fill()
        outcome = Runner(scene, options.seed, options.seconds).run()
        sys.stdout.write(report(outcome) + "\n")
    return bool(outcome.account.broken)


def _configure(server: Server, folder: Path) -> None:
    from tests.ground.surroundings import environment

    os.environ |= environment(folder) | {"DATABASE_URL": server.url}
    django.setup()


if __name__ == "__main__":
    sys.exit(main())
