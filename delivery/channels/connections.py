"""Connections that are opened within a deadline, kept for a moment, and reused only while alive.

Why connections are kept at all: opening one costs a TCP and a TLS handshake, for many messages to
one host most of the time. Why so short: a server closes an idle connection when it likes, and a
request written into that moment is lost with no way to tell whether it was read, a needless
`unknown`. So a kept connection is used again only within `IDLE_S` (half of the shortest common
keep-alive: gunicorn 2 s, Node.js and uvicorn 5 s, nginx 75 s), and only if nothing, neither
data nor an end, has arrived on it since. What is left of the race is the peer's close crossing
our first byte within one network delay.
"""

import os
import select
import socket
import ssl
import threading
from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from certifi import where as certifi_bundle

from delivery.channels.addresses import Address, addresses_of
from delivery.channels.deadlines import Watched
from delivery.timing import boottime

IDLE_S = 1.0
MAX_KEPT = 256  # per process


@dataclass(frozen=True, slots=True)
class Peer:
    """Whom a connection leads to, and under which rules it was opened.

    `tls`: whether it is encrypted. `ca_file`: the certificates to trust, empty for the usual ones.
    `protocol`: what the handshake announces (ALPN); empty announces nothing.
    """

    host: str
    port: int
    tls: bool
    allow_private: bool = False
    ca_file: str = ""
    protocol: str = "http/1.1"


@dataclass(eq=False, slots=True)
class Connection:
    """An open connection, and since when it is idle (`boottime()`)."""

    peer: Peer
    sock: socket.socket
    idle_since: float = field(default=0.0)

    def close(self) -> None:
        self.sock.close()

    def is_alive(self) -> bool:
        """Whether it was idle shortly and nothing has arrived on it: no data, no end, no error."""
        if boottime() - self.idle_since > IDLE_S:
            return False
        poll = select.poll()
        poll.register(self.sock, select.POLLIN)
        return not poll.poll(0)


def open_connection(peer: Peer, call: Watched) -> Connection:
    """Resolve, check the address, connect, and shake hands; all under the call's watch.

    Raises:
        OSError: (a TimeoutError, an ssl.SSLError among them) if no address answers as it must.
        ForbiddenAddressError: if the channel must not send there.
    """
    found = addresses_of(peer.host, peer.port, call, allow_private=peer.allow_private)
    sock = _connect(found, call)
    if not peer.tls:
        return Connection(peer, sock)
    try:
        return Connection(peer, shake_hands(sock, peer, call))
    except BaseException:
        sock.close()
        raise


def _connect(found: list[Address], call: Watched) -> socket.socket:
    """The first of the addresses that answers; each gets an equal share of the time left."""
    last_error: OSError | None = None
    for tried, address in enumerate(found):
        try:
            return _connect_to(address, call, call.left() / (len(found) - tried))
        except OSError as error:
            last_error = error
    raise last_error or OSError("the name has no address")


def _connect_to(address: Address, call: Watched, seconds: float) -> socket.socket:
    family, host, port = address
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.settimeout(seconds)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.connect((host, port))
        call.uses(sock)
    except BaseException:
        sock.close()
        raise
    return sock


def shake_hands(sock: socket.socket, peer: Peer, call: Watched) -> ssl.SSLSocket:
    """Encrypt an open connection, under the call's watch.

    Raises:
        OSError: (an ssl.SSLError among them) if the peer does not prove who it is.
    """
    sock.settimeout(call.left())
    # `wrap_socket` takes the descriptor away from `sock` before it shakes hands, so that a peer
    # that stalls in the handshake could not be shut down through it: watch a duplicate meanwhile.
    with sock.dup() as duplicate:
        call.uses(duplicate)
        wrapped = _context(peer).wrap_socket(sock, server_hostname=peer.host)
        try:
            call.uses(wrapped)
        except BaseException:
            wrapped.close()
            raise
    return wrapped


def _context(peer: Peer) -> ssl.SSLContext:
    """Its certificates as they are now: a replaced file counts from the next connection."""
    file = peer.ca_file or certifi_bundle()
    return tls_context(file, Path(file).stat().st_mtime_ns, peer.protocol)


@lru_cache(maxsize=32)
def tls_context(ca_file: str, changed_at: int, protocol: str = "http/1.1") -> ssl.SSLContext:
    """Verify the chain and the host's name, TLS 1.2 or newer.

    Args:
        ca_file: a PEM file of the certificates to trust.
        changed_at: when it was last written; only tells the cache when to read it again.
        protocol: what to announce, if anything.
    """
    del changed_at
    context = ssl.create_default_context(cafile=ca_file)
    if protocol:
        context.set_alpn_protocols([protocol])
    return context


class Kept:
    """Idle connections. Last in, first out; what has been idle too long is closed in passing."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all without closing: after a fork they belong to the parent."""
        self._by_peer: dict[Peer, list[Connection]] = {}
        self._in_order: deque[tuple[float, Connection]] = deque()
        self._count = 0
        self._lock = threading.Lock()

    def take(self, peer: Peer) -> Connection | None:
        """An idle connection to this peer that is alive, removed from here."""
        while (connection := self._pop(peer)) is not None:
            if connection.is_alive():
                return connection
            connection.close()
        return None

    def _pop(self, peer: Peer) -> Connection | None:
        with self._lock:
            idle = self._by_peer.get(peer)
            if not idle:
                return None
            self._count -= 1
            return idle.pop()

    def put(self, connection: Connection) -> None:
        """Keep a connection on which one whole answer was read and nothing else."""
        now = connection.idle_since = boottime()
        with self._lock:
            closing = self._remove_overdue(now)
            if self._count < MAX_KEPT:
                self._count += 1
                self._by_peer.setdefault(connection.peer, []).append(connection)
                self._in_order.append((now, connection))
            else:
                closing.append(connection)
        for one in closing:
            one.close()

    def _remove_overdue(self, now: float) -> list[Connection]:
        removed = []
        while self._in_order and now - self._in_order[0][0] > IDLE_S:
            since, connection = self._in_order.popleft()
            idle = self._by_peer.get(connection.peer, [])
            if connection.idle_since == since and connection in idle:  # not used again since
                idle.remove(connection)
                self._count -= 1
                removed.append(connection)
            if not idle:
                self._by_peer.pop(connection.peer, None)
        return removed


kept = Kept()
os.register_at_fork(after_in_child=kept.reset)
