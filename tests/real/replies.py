"""A line between a client and a real server on which the reply that says "taken" is lost."""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

Loss = Literal["reset", "close", "hang"]
# What Postfix says to the final dot. The reply is swallowed whole, and then the line breaks.
QUEUED = b"queued as"


@contextmanager
def losing_replies(
    port: int, loss: Loss, taken: bytes = QUEUED, *, times: int = 1_000
) -> Iterator[int]:
    """The port of a line to `port` that loses the first so many replies with `taken` in them."""
    listener = socket.create_server(("127.0.0.1", 0))
    lines: list[socket.socket] = []
    to_lose = iter(range(times))

    def is_lost(data: bytes) -> bool:
        return taken in data and next(to_lose, None) is not None

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", port))
            lines.extend((client, server))
            threading.Thread(target=_pump, args=(client, server), daemon=True).start()
            threading.Thread(
                target=_answer, args=(server, client, loss, is_lost), daemon=True
            ).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        listener.close()
        for line in lines:
            _break(line)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)


def _answer(
    server: socket.socket, client: socket.socket, loss: Loss, is_lost: Callable[[bytes], bool]
) -> None:
    with contextlib.suppress(OSError):
        while data := server.recv(65_536):
            if is_lost(data):
                if loss == "reset":
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    client.shutdown(socket.SHUT_RD)  # wakes the thread that reads from it
                    client.close()
                elif loss == "close":
                    _break(client)
                return
            client.sendall(data)


def _break(line: socket.socket) -> None:
    # `close` alone sends nothing while another thread sits in `recv`.
    with contextlib.suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)
    line.close()
