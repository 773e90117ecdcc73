"""A provider's interface on loopback, with the semantics that its documents state.

One configurable fake: it has an effect for each submission that it accepts and counts them, knows
keys with their window and scope, loses answers on demand, and lists what was posted with pages and
permissions. Subclasses give it one vendor's shapes.
"""

import json
import socket
import struct
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, Self
from urllib.parse import parse_qs, parse_qsl, urlsplit

SECRET = "a5ecretof20characters"


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. `query` has the fields of a posted form as well."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def said(self) -> Any:
        """What was posted, as JSON or as a form: vendors take either."""
        is_form = "form" in self.headers.get("content-type", "")
        return dict(parse_qsl(self.body.decode())) if is_form else self.json

    def one(self, name: str, default: str = "") -> str:
        return self.query.get(name, [default])[0]


@dataclass(slots=True)
class Answer:
    status: int
    said: Any
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Entry:
    """One message that was accepted."""

    id: str
    author: str
    at: datetime
    where: str
    said: dict[str, Any]
    key: str = ""


class Vendor:
    """The server. Set what it does wrong before it is asked."""

    me: ClassVar[str] = "B0COUNTERFOIL"
    # The vendors' own clients are particular about it.
    content_type: ClassVar[str] = "application/json"

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.asks: list[Ask] = []
        self.effects = 0
        self.lose_answers = False  # have the effect, then reset the connection
        self.instead: Answer | None = None  # answer a submission like this, without an effect
        self.may_read = True
        self.window_s = 0.0
        self.in_flight = False
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    # --- What a vendor says

    def submission(self, ask: Ask) -> bool:
        """Whether this request is one."""
        raise NotImplementedError

    def accept(self, ask: Ask) -> Answer:
        """Accept a submission and answer as the vendor does."""
        raise NotImplementedError

    def read(self, ask: Ask) -> Answer:
        """Answer every other request."""
        raise NotImplementedError

    def foreign(self, where: str, text: str, recognizer: str) -> None:
        """Somebody else posts this."""
        raise NotImplementedError

    # --- What they share

    def known(self, key: str) -> Entry | None:
        """The entry that this key stands for, while its window is open."""
        since = datetime.now(UTC) - timedelta(seconds=self.window_s)
        return next(
            (one for one in self.entries if key and one.key == key and one.at > since), None
        )

    def post(self, where: str, said: dict[str, Any], *, author: str = "", key: str = "") -> Entry:
        """Have one effect."""
        entry = Entry(
            id=str(1_000 + len(self.entries)),
            author=author or self.me,
            at=datetime.now(UTC),
            where=where,
            said=said,
            key=key,
        )
        self.entries.append(entry)
        self.effects += entry.author == self.me
        return entry

    def at(self, where: str) -> list[Entry]:
        return [one for one in self.entries if one.where == where]

    def answer(self, ask: Ask) -> Answer | None:
        """The answer, or None to reset the connection."""
        with self._lock:
            self.asks.append(ask)
            if not self.submission(ask):
                return self.read(ask)
            if self.instead is not None:
                return self.instead
            answer = self.accept(ask)
            return None if self.lose_answers else answer

    @property
    def submissions(self) -> list[Ask]:
        return [ask for ask in self.asks if self.submission(ask)]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        vendor = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._do()

            def do_POST(self) -> None:
                self._do()

            def _do(self) -> None:
                parts = urlsplit(self.path)
                headers = {name.lower(): value for name, value in self.headers.items()}
                body = self.rfile.read(int(headers.get("content-length", 0)))
                query = parse_qs(parts.query, keep_blank_values=True)
                if "form" in headers.get("content-type", ""):
                    query |= parse_qs(body.decode(), keep_blank_values=True)
                answer = vendor.answer(Ask(self.command, parts.path, query, headers, body))
                if answer is None:
                    linger = struct.pack("ii", 1, 0)
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    self.close_connection = True
                    self.connection.close()
                    return
                data = json.dumps(answer.said).encode()
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", vendor.content_type)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  its name
                """Say nothing."""

        return Handler
