"""The one way out: a transport adapter for `requests` that submits once and knows how far it got.

Why not a plain `requests.Session`: its exceptions do not tell whether the peer acted (the same
`ConnectionError` was measured with and without an effect), it follows a 307 by posting again (31
effects from one call), its timeout bounds a read and not a call, and it costs several times as
much. What tells is the phase: connecting, connected, writing, written, status. So every failure
is classified by the phase first; the exception only words the reason.

Never retries, never follows a redirect, never reads proxies, `.netrc` or any other environment.
"""

import re
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from delivery.channels.addresses import ForbiddenAddressError
from delivery.channels.connections import Connection, Peer, kept, open_connection
from delivery.channels.contract import Journal
from delivery.channels.deadlines import Watched, watch
from delivery.channels.reading import PartialAnswer, read_answer
from delivery.errors import HeldBackError
from delivery.outcomes import Ambiguous, NotSent, Outcome, Refused

_AT_ONCE = 65_536  # bytes handed to the system at once, so that a long body is counted as it goes
_DEFAULT_PORT = {"http": 80, "https": 443}
_TARGET = re.compile(r"[\x21-\x7e]+")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, token
_VALUE = re.compile(r"[\t\x20-\x7e]*")
_OWN = {"Accept-Encoding": "identity", "User-Agent": "counterfoil"}


@dataclass(frozen=True, slots=True)
class Call:
    """One request, and under which rules it may leave.

    Args:
        url: absolute, `http` or `https`.
        headers: printable ASCII; anything else, line ends above all, is refused.
        allow_private: see `addresses.is_allowed`.
        ca_file: see `connections.tls_context`.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    allow_private: bool = False
    ca_file: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that ended without an answer: the phase it reached, and the outcome that follows."""

    phase: str
    outcome: Outcome


class MalformedCallError(Exception):
    """A request that must not be written: it would not mean on the wire what it means here."""


class _Submission(requests.PreparedRequest):
    """A prepared request together with the call's own journal, phase and rules."""

    def __init__(self, call: Call, journal: Journal) -> None:
        super().__init__()
        self.call = call
        self.journal = journal
        self.phase = "init"
        self.written = 0
        self.watched: Watched | None = None
        self.method, self.url, self.body = call.method, call.url, call.body
        self.headers = CaseInsensitiveDict(call.headers)

    def reached(self, phase: str) -> None:
        self.phase = phase
        self.journal.reached(phase)


def exchange(call: Call, journal: Journal) -> PartialAnswer | Failure:
    """Put one request on the wire, once, and wait for its answer until the journal's deadline.

    Returns an answer as soon as a status line was seen, whatever broke after it; a `Failure`
    otherwise. Raises nothing but what ends the process.
    """
    submission = _Submission(call, journal)
    try:
        return transport.send(submission)
    except HeldBackError as held:
        return Failure(submission.phase, NotSent(str(held), tried=False))
    except (ForbiddenAddressError, MalformedCallError) as refused:
        return Failure(submission.phase, Refused(str(refused)))
    except Exception as error:  # noqa: BLE001  by phase: an unknown error too tells nothing more
        return Failure(submission.phase, _by_phase(submission, error))


def _by_phase(submission: _Submission, error: Exception) -> Outcome:
    why = f"{_worded(submission, error)}, in phase {submission.phase}"
    if submission.phase in ("init", "connecting", "connected"):
        return NotSent(why)
    if submission.written == 0 and isinstance(error, _NothingWrittenError):
        return NotSent(why)
    return Ambiguous(f"{why}, after {submission.written} bytes")


def _worded(submission: _Submission, error: Exception) -> str:
    if submission.watched is not None and submission.watched.over:
        return "the call's time was over"  # the error is only what its end looked like from inside
    cause = error.__cause__ if isinstance(error, _NothingWrittenError) else error
    return f"{type(cause).__name__}: {cause}"[:300]


class _NothingWrittenError(Exception):
    """The system took not one byte of the request."""


class OneSubmission(BaseAdapter):
    """The transport adapter: `send` is one submission on the wire."""

    def send(  # type: ignore[override]  # takes only submissions made here
        self, request: _Submission, **ignored: object
    ) -> PartialAnswer:
        """Connect, ask the journal once more, write, read.

        Raises:
            HeldBackError: from the journal; nothing was written.
            ForbiddenAddressError, MalformedCallError: nothing was written.
            Exception: anything else; `request.phase` and `request.written` tell how far it got.
        """
        del ignored
        target = urlsplit(request.call.url)
        data = encode(request.call, target)
        request.reached("connecting")
        call = request.watched = watch.add(request.journal.deadline)
        try:
            return self._on_connection(request, call, _peer(request.call, target), data)
        finally:
            watch.remove(call)

    def close(self) -> None:
        """Nothing to close: connections are kept per process and end by themselves."""

    def _on_connection(
        self, request: _Submission, call: Watched, peer: Peer, data: bytes
    ) -> PartialAnswer:
        connection = kept.take(peer) or open_connection(peer, call)
        answer = None
        try:
            call.uses(connection.sock)
            connection.sock.settimeout(call.left())
            request.reached("connected")
            request.journal.before_first_byte()
            answer = _converse(request, connection, data)
            return answer
        finally:
            watch.remove(call)  # before it is kept: it must not be shut down under its next user
            if answer is not None and answer.reusable:
                kept.put(connection)
            else:
                connection.close()


def _converse(request: _Submission, connection: Connection, data: bytes) -> PartialAnswer:
    """Write, then read. A peer that hangs up while we write may have answered: read on."""
    broken = _write(request, connection.sock, data)
    try:
        answer = read_answer(connection.sock, request.call.method)
    except Exception as error:  # noqa: BLE001  raised again, or the earlier one in its place
        raise broken or error from None
    request.reached("status")
    # A body without a length ends with the connection, also when it was the watch that ended it.
    answer.whole &= request.watched is not None and not request.watched.over
    answer.reusable &= answer.whole and broken is None
    answer.url, answer.request = request.call.url, request
    return answer


def _write(request: _Submission, sock: socket.socket, data: bytes) -> OSError | None:
    """Hand all bytes to the system. A peer that hangs up midway may have answered: read on.

    Raises:
        _NothingWrittenError: if it took none, so that nothing can have arrived.
        TimeoutError: if the peer did not take them in time.
    """
    request.reached("writing")
    try:
        _write_all(request, sock, data)
    except (BrokenPipeError, ConnectionResetError) as error:
        # A TLS layer may have written part of a record before it failed, so only plain counts.
        if request.written == 0 and not isinstance(sock, ssl.SSLSocket):
            raise _NothingWrittenError from error
        return error
    request.reached("written")
    return None


def _write_all(request: _Submission, sock: socket.socket, data: bytes) -> None:
    view = memoryview(data)
    while request.written < len(data):
        count = sock.send(view[request.written : request.written + _AT_ONCE])
        request.written += count
        request.journal.wrote(count)


def _peer(call: Call, target: SplitResult) -> Peer:
    port = target.port or _DEFAULT_PORT[target.scheme]
    tls = target.scheme == "https"
    return Peer(str(target.hostname), port, tls, call.allow_private, call.ca_file if tls else "")


def encode(call: Call, target: SplitResult) -> bytes:
    """The request as it goes on the wire.

    Raises:
        MalformedCallError: if a part of it could be read as something else (CR, LF, NUL, spaces
            where none belong), or the URL is none that can be called.
    """
    if target.scheme not in _DEFAULT_PORT or not target.hostname:
        raise MalformedCallError("the URL must be http:// or https:// with a host")
    if not _TARGET.fullmatch(call.url):
        raise MalformedCallError("the URL must be printable ASCII without spaces")
    path = target.path or "/"
    where = f"{path}?{target.query}" if target.query else path
    host = target.netloc.rpartition("@")[2]
    fields = {"Host": host, **_OWN, "Content-Length": str(len(call.body)), **call.headers}
    for name, value in fields.items():
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise MalformedCallError(f"the header {name!r} has a character that may not be sent")
    lines = [f"{call.method} {where} HTTP/1.1", *(f"{name}: {fields[name]}" for name in fields)]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + call.body


transport = OneSubmission()
