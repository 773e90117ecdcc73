"""The console as it is served in real use, by waitress, in a thread of the tests' own process."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import waitress
from waitress import wasyncore
from waitress.server import BaseWSGIServer

from config.wsgi import application

THREADS = 4


@contextmanager
def served() -> Iterator[str]:
    """Serve the console on a free port of this machine; gives its origin."""
    logging.getLogger("waitress").setLevel(logging.ERROR)
    server: BaseWSGIServer = waitress.create_server(
        application, host="127.0.0.1", port=0, threads=THREADS
    )
    thread = threading.Thread(target=server.run, name="console", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.effective_port}"
    finally:
        # In its own thread: its loop ends when nothing is left to wait for.
        server.trigger.pull_trigger(lambda: wasyncore.close_all(server._map))
        thread.join(10)
        server.task_dispatcher.shutdown()
