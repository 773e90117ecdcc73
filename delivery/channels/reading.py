"""Reading one answer, as far as it comes: a status line is worth something even without the rest.

The status line is what counts. What breaks after it (header fields cut, a body that ends early,
bad chunks) takes nothing away from it; before it is whole, nothing is known.
"""

import http.client
import io
import socket
from email.message import Message

import requests
from requests.structures import CaseInsensitiveDict

MAX_READ = 65_536  # bytes of an answer's body that are read; beyond it the connection is dropped
# Each may come several times: a proxy adds its own wait, and there is a field for each cookie.
_REPEATED = ("Retry-After", "Set-Cookie")
_MAX_INTERIM = 8  # answers such as 100 or 103 before the real one


class PartialAnswer(requests.Response):
    """An answer of which at least the status line was seen.

    `whole`: nothing of it is missing. `reusable`: and the connection can carry another request.
    """

    whole = False
    reusable = False


class _Lines(io.BufferedReader):
    """Remembers the first line and the last one, since the library takes a cut head for whole."""

    first: bytes | None = None
    last = b""

    def readline(self, size: int | None = -1, /) -> bytes:
        self.last = super().readline(-1 if size is None else size)
        if self.first is None:
            self.first = self.last
        return self.last

    @property
    def has_status_line(self) -> bool:
        return (self.first or b"").endswith(b"\n")

    @property
    def has_whole_head(self) -> bool:
        return self.last in {b"\r\n", b"\n"}


def read_answer(sock: socket.socket, method: str, most: int = MAX_READ) -> PartialAnswer:
    """The answer on this connection, with at most so many bytes of its body.

    Raises:
        OSError, http.client.HTTPException, ValueError: if there was no whole status line.
    """
    reading = http.client.HTTPResponse(sock, method=method)
    lines = _Lines(reading.fp.detach())
    reading.fp = lines
    try:
        status = _read_head(reading, lines)
        return _with_body(reading, status, most, whole_head=lines.has_whole_head)
    finally:
        reading.close()


def _read_head(reading: http.client.HTTPResponse, lines: _Lines) -> int:
    """The status of the first answer that is no interim one; header fields may be missing."""
    for _ in range(_MAX_INTERIM):
        status = _read_one_head(reading, lines)
        if not 100 <= status < 200 or reading.isclosed():
            return status
        # `begin` reads again only where it finds no header fields (http/client.py).
        reading.headers = None  # type: ignore[assignment]
        lines.first = None
    raise http.client.BadStatusLine("only interim answers")


def _read_one_head(reading: http.client.HTTPResponse, lines: _Lines) -> int:
    try:
        reading.begin()
    except Exception:
        if not lines.has_status_line or not isinstance(reading.status, int):
            raise
    if not lines.has_status_line:
        raise http.client.BadStatusLine(f"broke off at {lines.first!r}")
    return reading.status


def _with_body(
    reading: http.client.HTTPResponse, status: int, most: int, *, whole_head: bool
) -> PartialAnswer:
    answer = PartialAnswer()
    answer.status_code, answer.reason = status, str(reading.reason)
    parts: list[bytes] = []
    headers = getattr(reading, "headers", None)
    if headers is not None:
        answer.headers = CaseInsensitiveDict(headers.items())
        for name in _REPEATED:
            if said := headers.get_all(name):
                # The dictionary kept the last one only.
                answer.headers[name] = ", ".join(said)
        answer.whole = _read_parts(reading, parts, most) and whole_head
        has_one_end = _has_one_end(headers, sum(map(len, parts)))
        answer.reusable = answer.whole and not reading.will_close and has_one_end
    answer._content = b"".join(parts)  # noqa: SLF001  there is no public way to give it one
    return answer


def _has_one_end(headers: Message, read: int) -> bool:
    """Whether nobody could see its end elsewhere, so that no rest is taken for the next answer."""
    lengths = {length.strip() for length in headers.get_all("Content-Length", [])}
    return not lengths or (lengths == {str(read)} and "Transfer-Encoding" not in headers)


def _read_parts(reading: http.client.HTTPResponse, parts: list[bytes], room: int) -> bool:
    """Read up to `room` bytes; whether that was all there is. Breaking off is no error."""
    try:
        while room and (part := reading.read1(room)):
            parts.append(part)
            room -= len(part)
    except (OSError, http.client.HTTPException, ValueError):
        return False
    return room > 0 and not reading.length
