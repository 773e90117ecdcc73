"""`python -m delivery.simulator`: start the recipient, print its address, serve until stopped."""

import argparse
import asyncio
import os
import signal
import sys
from pathlib import Path

from delivery.simulator.recipient import Recipient
from delivery.simulator.routes import Routes
from delivery.simulator.wire import Wire


def main(arguments: list[str] | None = None) -> None:
    """Serve on loopback only: it is a stand-in for tests and demos and checks nobody's identity."""
    parser = argparse.ArgumentParser(prog="delivery.simulator", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 lets the system choose")
    parser.add_argument("--store", type=Path, help="append-only file; without one, memory only")
    parser.add_argument(
        "--until-eof",
        action="store_true",
        help="end when standard input ends: never outlive a test",
    )
    options = parser.parse_args(arguments)
    asyncio.run(serve(options.port, options.store, until_eof=options.until_eof))


async def serve(port: int, store: Path | None, *, until_eof: bool) -> None:
    """Serve until SIGTERM, SIGINT or, if so asked, the end of standard input."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    routes = Routes(Recipient(store))
    server = await loop.create_server(lambda: Wire(routes), "127.0.0.1", port, backlog=1024)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    if until_eof:
        loop.add_reader(sys.stdin.fileno(), _stop_at_eof, stopped)
    host, bound = server.sockets[0].getsockname()
    sys.stdout.write(f"http://{host}:{bound}\n")
    sys.stdout.flush()
    await stopped.wait()
    server.close()


def _stop_at_eof(stopped: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 1024):
        stopped.set()


if __name__ == "__main__":
    main()
