"""Those whom alarms reach: a mail server and a webhook's recipient, which keep what they took."""

import email
import email.policy
import json
import logging
import threading
from collections.abc import Callable
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from aiosmtpd.controller import Controller

OK = "250 OK"
# It tells each connection that ends, to whoever logs.
logging.getLogger("mail.log").setLevel(logging.WARNING)
Answer = Callable[[], str]


class _Server(Controller):
    """Says which port it was given before its starter calls it there."""

    def _trigger_server(self) -> None:
        server: Any = self.server
        self.port = server.sockets[0].getsockname()[1]
        super()._trigger_server()  # type: ignore[no-untyped-call]  # aiosmtpd has no types


class Mailbox:
    """A mail server on a port of its own.

    `answers`: what it does with the next mails, before it answers; afterwards it takes each.
    """

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.recipients: list[str] = []
        self.answers: list[Answer] = []
        self._server = _Server(self, hostname="127.0.0.1", port=0)

    async def handle_DATA(self, _: Any, session: Any, envelope: Any) -> str:
        del session
        answer = self.answers.pop(0) if self.answers else None
        if answer is None or (said := answer()) == OK:
            self.take(envelope)
            return OK
        return said

    def take(self, envelope: Any) -> None:
        parsed = email.message_from_bytes(envelope.content, policy=email.policy.default)
        assert isinstance(parsed, EmailMessage)
        self.mails.append(parsed)
        self.recipients += envelope.rcpt_tos

    @property
    def subjects(self) -> list[str]:
        return [str(mail["Subject"]) for mail in self.mails]

    @property
    def texts(self) -> list[str]:
        return [mail.get_content().replace("\r\n", "\n") for mail in self.mails]

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        return int(self._server.port)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._server.stop(no_assert=True)


class Hook:
    """A webhook's recipient. `statuses`: the next answers; afterwards 204."""

    def __init__(self) -> None:
        self.calls: list[tuple[dict[str, str], bytes]] = []
        self.statuses: list[int] = []
        self.pings: list[str] = []
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = hook.statuses.pop(0) if hook.statuses else 204
                if status < 300:
                    hook.calls.append((dict(self.headers), body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self) -> None:
                hook.pings.append(self.path)
                self.send_response(hook.statuses.pop(0) if hook.statuses else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def values(self) -> list[Any]:
        return [json.loads(body) for _, body in self.calls]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/hook/s3cr3t-path?token=t0ken"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
