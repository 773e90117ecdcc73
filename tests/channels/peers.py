"""Recipients on a raw socket that follow a script to the byte, and count what they took."""

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

CERTIFICATES = Path(__file__).parent / "certificates"
OK = b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"id": "m7"}'


class Talk:
    """One connection, as the script sees it."""

    def __init__(self, peer: "Peer", sock: socket.socket) -> None:
        self._peer = peer
        self.sock = sock
        self._received = b""

    def read_request(self) -> bytes:
        """Wait for one complete request; empty when the sender has gone."""
        while (whole := self._whole()) is None:
            part = self.sock.recv(65_536)
            if not part:
                return b""
            self._received += part
        request, self._received = self._received[:whole], self._received[whole:]
        self._peer.requests.append(request)
        return request

    def _whole(self) -> int | None:
        head, found, _ = self._received.partition(b"\r\n\r\n")
        if not found:
            return None
        length = 0
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        needed = len(head) + 4 + length
        return needed if len(self._received) >= needed else None

    def act(self) -> None:
        """Have the effect that a submission asks for."""
        self._peer.effects += 1
        self._peer.acted.set()

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def reset(self) -> None:
        """Close with RST, so that the sender's next read or write fails."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def close(self) -> None:
        self.sock.close()

    def hang(self) -> None:
        """Do nothing until the sender gives up or the test is over."""
        while self.sock.recv(65_536):
            pass

    def drip(self, data: bytes, every_s: float = 0.02) -> None:
        """Send one byte at a time, and stop when the sender has gone or the test is over."""
        for index in range(len(data)):
            if self._peer.closing.wait(every_s):
                return
            self.send(data[index : index + 1])

    def start_tls(self, certificate: str = "server.pem") -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATES / certificate)
        self.sock = context.wrap_socket(self.sock, server_side=True)


Script = Callable[[Talk], None]


class Peer:
    """Plays its script on every connection, each in a thread of its own, until it is left."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self.requests: list[bytes] = []
        self.effects = 0
        self.acted = threading.Event()
        self.connections = 0
        self.closing = threading.Event()
        self._talks: list[Talk] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            talk = Talk(self, sock)
            self._talks.append(talk)
            thread = threading.Thread(target=self._play, args=(talk,))
            self._threads.append(thread)
            thread.start()

    def _play(self, talk: Talk) -> None:
        with contextlib.suppress(OSError), contextlib.closing(talk):
            self._script(talk)  # where the sender hung up, the script ends

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        # `close` alone does not wake the thread that sits in accept or recv.
        for sock in (self._listener, *(talk.sock for talk in self._talks)):
            with contextlib.suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(5)


def answering(answer: bytes, *, effect: bool = True) -> Script:
    """A script that reads requests one after the other and answers each the same."""

    def script(talk: Talk) -> None:
        while talk.read_request():
            if effect:
                talk.act()
            talk.send(answer)

    return script


def status(code: int, *headers: str, body: str = "{}") -> bytes:
    """An answer with this status, these header lines and this body."""
    lines = [f"HTTP/1.1 {code} Told", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body.encode()
