"""HTTP/1.1 as far as the recipient needs it: small, quick, and able to misbehave on the socket.

Written by hand because a web server is built never to do what is wanted here: reset a connection
after acting, send half a body, or answer one byte at a time.
"""

import asyncio
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass

from delivery.simulator.recipient import Answer

MAX_REQUEST = 4 * 1024 * 1024
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_REASONS = {200: "OK", 307: "Temporary Redirect", 404: "Not Found", 409: "Conflict"}


@dataclass(frozen=True, slots=True)
class Request:
    """One complete request. `target` is the path with its query; header names are lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Reply = Callable[[Answer], None]
Handler = Callable[[Request, Reply], None]


class Wire(asyncio.Protocol):
    """One connection. The handler gets each request with a way to answer it, now or later."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._received = bytearray()
        self._answering = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  a TCP server's always is
        self._transport = transport
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._answering:
            self._take_request()

    def _take_request(self) -> None:
        request = take_request(self._received)
        if request is not None:
            self._answering = True
            self._handler(request, self._reply)
        elif len(self._received) > MAX_REQUEST and self._transport is not None:
            self._transport.abort()

    def _reply(self, answer: Answer) -> None:
        transport = self._transport
        if transport is None or answer.ending == "hang":
            return  # the sender is gone, or is to wait for ever
        if answer.ending == "reset":
            connection = transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            transport.abort()
        elif answer.ending == "close":
            transport.close()
        elif answer.ending == "drip":
            self._drip(encode(answer), answer.drip_s)
        elif answer.ending == "cut":
            transport.write(encode(answer)[:-1])
            transport.close()
        else:
            transport.write(encode(answer))
            self._next()

    def _next(self) -> None:
        self._answering = False
        if self._received:
            self._take_request()

    def _drip(self, left: bytes, every_s: float) -> None:
        if self._transport is None:
            return
        if not left:
            self._next()
            return
        self._transport.write(left[:1])
        asyncio.get_running_loop().call_later(every_s, self._drip, left[1:], every_s)


def take_request(received: bytearray) -> Request | None:
    """Remove one complete request from the front of `received`; None while it is not complete."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return None
    first, *lines = received[:end].decode("latin-1").split("\r\n")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    length = int(headers.get("content-length", 0))
    if len(received) < end + 4 + length:
        return None
    body = bytes(received[end + 4 : end + 4 + length])
    del received[: end + 4 + length]
    method, target, _version = first.split(" ", 2)
    return Request(method, target, headers, body)


def encode(answer: Answer) -> bytes:
    """The bytes of an answer."""
    reason = _REASONS.get(answer.status, "Status")
    lines = [f"HTTP/1.1 {answer.status} {reason}", f"Content-Length: {len(answer.body)}"]
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + answer.body
