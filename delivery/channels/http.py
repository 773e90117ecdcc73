"""The one way out: a transport adapter for `requests` that submits once and knows how far it got.

Why not a plain `requests.Session`: its exceptions do not tell whether the peer acted (the same
`ConnectionError` was measured with and without an effect), it follows a 307 by posting again (31
effects from one call), its timeout bounds a read and not a call, and it costs several times as
much. What tells is the phase: connecting, connected, writing, written, status. So every failure
is classified by the phase first; the exception only words the reason.

Never retries, never follows a redirect, never reads proxies, `.netrc` or any other environment.
"""

import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from delivery.channels.addresses import ForbiddenAddressError
from delivery.channels.connections import Connection, Peer, kept, open_connection
from delivery.channels.contract import Journal
from delivery.channels.deadlines import Watched, watch
from delivery.channels.encoding import MalformedCallError, encode, target_of
from delivery.channels.reading import MAX_READ, PartialAnswer, read_answer
from delivery.errors import HeldBackError
from delivery.outcomes import Ambiguous, NotSent, Outcome, Refused

_AT_ONCE = 65_536  # bytes handed to the system at once, so that a long body is counted as it goes


@dataclass(frozen=True, slots=True)
class Call:
    """One request, and under which rules it may leave.

    Args:
        url: absolute, `http` or `https`.
        headers: printable ASCII; anything else, line ends above all, is refused.
        allow_private: see `addresses.is_allowed`.
        ca_file: see `connections.tls_context`.
        keep: whether a kept connection may be used, and this one kept (see `connections`).
        most: bytes of the answer's body that are read.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    allow_private: bool = False
    ca_file: str = ""
    keep: bool = True
    most: int = MAX_READ

    @property
    def sent_headers(self) -> Mapping[str, str]:
        """The headers as they are sent: with a request to close where nothing is kept."""
        return self.headers if self.keep else {**self.headers, "Connection": "close"}


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that ended without an answer: the phase it reached, and the outcome that follows."""

    phase: str
    outcome: Outcome


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
        call = request.call
        target = target_of(call.url, allow_private=call.allow_private, ca_file=call.ca_file)
        data = encode(call.method, target, call.sent_headers, call.body)
        request.reached("connecting")
        watched = request.watched = watch.add(request.journal.deadline)
        try:
            return self._on_connection(request, watched, target.peer, data)
        finally:
            watch.remove(watched)

    def close(self) -> None:
        """Nothing to close: connections are kept per process and end by themselves."""

    def _on_connection(
        self, request: _Submission, watched: Watched, peer: Peer, data: bytes
    ) -> PartialAnswer:
        keep = request.call.keep
        connection = (kept.take(peer) if keep else None) or open_connection(peer, watched)
        answer = None
        try:
            watched.uses(connection.sock)
            connection.sock.settimeout(watched.left())
            request.reached("connected")
            request.journal.before_first_byte()
            answer = _converse(request, connection, data)
            return answer
        finally:
            watch.remove(watched)  # before it is kept: never shut down under its next user
            if keep and answer is not None and answer.reusable:
                kept.put(connection)
            else:
                connection.close()


def _converse(request: _Submission, connection: Connection, data: bytes) -> PartialAnswer:
    """Write, then read. A peer that hangs up while we write may have answered: read on."""
    broken = _write(request, connection.sock, data)
    try:
        answer = read_answer(connection.sock, request.call.method, request.call.most)
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


transport = OneSubmission()
