"""The way out for mail: one message to one recipient in one transaction, and how far it got.

SMTP's point of no return is the dot that ends the message. A client that was lost before it had
no effect on Postfix and Exim; killed right behind it, before the 250 was read, Postfix delivered
and Exim did not (measured). So everything up to the last byte of the message is preparation, the
last check is made right before the dot, and what is lost after it is ambiguous.

`smtplib` speaks the protocol and nothing more: its own connection, its sending and its exceptions
(one class for every loss, before the dot and after) are not used. One recipient per transaction,
since a partial refusal would be an acceptance for the others.
"""

import re
import select
import smtplib
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Literal

from delivery.channels.addresses import ForbiddenAddressError
from delivery.channels.connections import Peer, open_connection, shake_hands
from delivery.channels.contract import Journal
from delivery.channels.deadlines import Watched, watch
from delivery.errors import HeldBackError
from delivery.outcomes import Accepted, Ambiguous, NotSent, Outcome, Refused, Unauthorised

Security = Literal["starttls", "tls", "none"]
Receipts = Literal["failures", "all", "none"]
_NOTIFY: dict[Receipts, str] = {
    "failures": "FAILURE,DELAY",
    "all": "SUCCESS,FAILURE,DELAY",
    "none": "NEVER",
}
_MAX_LINE, _MAX_LINES = 4096, 128  # of one reply
_AT_ONCE = 65_536
_GOOD_BYE_S = 0.2
_WANTS_A_NAME = 530  # RFC 4954, 6: to MAIL, where nobody has signed in; no word about the mail
_QUEUED_AS = re.compile(r"queued as ([\w.-]{1,100})|\bid=([\w.-]{1,100})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Server:
    """Where mail is handed in, and as whom.

    `hello`: the name that this client gives itself. Nothing is sent in the clear that is not
    meant to be: with `starttls` a server that offers no TLS gets nothing.
    """

    host: str
    port: int
    security: Security
    user: str
    password: str
    hello: str
    allow_private: bool = False
    ca_file: str = ""

    @property
    def peer(self) -> Peer:
        tls = self.security == "tls"
        return Peer(self.host, self.port, tls, self.allow_private, self.ca_file, protocol="")


@dataclass(frozen=True, slots=True)
class Mail:
    """One message for one recipient. `envelope_id` comes back in delivery reports (RFC 3461)."""

    sender: str
    recipient: str
    message: bytes
    envelope_id: str
    receipts: Receipts = "failures"


class _SaidNoError(Exception):
    """The server answered, and not with what was hoped for.

    `about_the_mail`: it refused this sender, recipient or message, not us.
    """

    def __init__(self, stage: str, code: int, text: bytes, *, about_the_mail: bool = True) -> None:
        self.code = code
        self.response = f"{code} {text.decode('utf-8', 'replace')}".replace("\x00", "\ufffd")[:4000]
        self.about_the_mail = about_the_mail
        super().__init__(f"{stage}: {self.response[:200]}")


class _Client(smtplib.SMTP):
    """The protocol on a connection of ours: capped replies, watched as a whole."""

    def __init__(self, server: Server, call: Watched) -> None:
        super().__init__(local_hostname=server.hello)
        self._server = server
        self._call = call
        self.in_data = False

    def open(self) -> None:
        """Connect, encrypt and sign in.

        Raises:
            OSError, smtplib.SMTPException, ForbiddenAddressError: nothing was handed in.
            _SaidNoError: the server wants nothing from us, or not like this.
        """
        server = self._server
        self.sock = open_connection(server.peer, self._call).sock
        self.sock.settimeout(self._call.left())
        _expect("greeting", 220, *self.getreply(), about_the_mail=False)
        self.ehlo_or_helo_if_needed()
        if server.security == "starttls":
            self._encrypt()
        if server.user:
            self._sign_in(server.user, server.password)

    def _encrypt(self) -> None:
        if not self.has_extn("starttls"):
            raise _SaidNoError("STARTTLS", 0, b"the server offers none", about_the_mail=False)
        _expect("STARTTLS", 220, *self.docmd("STARTTLS"), about_the_mail=False)
        self.file = None  # it reads in the clear, and has read nothing ahead
        self.sock = shake_hands(self._line, self._server.peer, self._call)
        self.sock.settimeout(self._call.left())
        self.helo_resp = self.ehlo_resp = None
        self.esmtp_features = {}
        self.does_esmtp = False
        self.ehlo_or_helo_if_needed()

    def _sign_in(self, user: str, password: str) -> None:
        """With one mechanism: the library's `login` would fail with each, and be locked out."""
        if not (user + password).isascii():  # the library's own error would quote a character
            raise _SaidNoError(
                "AUTH", 0, b"the name or password is not ASCII", about_the_mail=False
            )
        offered = self.esmtp_features.get("auth", "").upper().split()
        self.user, self.password = user, password
        if "PLAIN" in offered:
            self.auth("PLAIN", self.auth_plain)
        elif "LOGIN" in offered:
            self.auth("LOGIN", self.auth_login)
        else:
            why = f"it offers {', '.join(offered) or 'no way to'}, not PLAIN or LOGIN"
            raise _SaidNoError("AUTH", 0, why.encode(), about_the_mail=False)

    @property
    def _line(self) -> socket.socket:
        if self.sock is None:
            raise smtplib.SMTPServerDisconnected("the connection is gone")
        return self.sock

    def prepare(self, mail: Mail) -> None:
        """Everything but the final dot. Until that is written nothing is handed in."""
        data = _stuffed(
            b"Date: " + format_datetime(datetime.now(UTC)).encode() + b"\r\n" + mail.message
        )
        reports = self.has_extn("dsn")
        size = [f"SIZE={len(data)}"] if self.has_extn("size") else []
        named = ["RET=HDRS", f"ENVID={mail.envelope_id}"] if reports else []
        _expect("MAIL FROM", 250, *self.mail(mail.sender, [*size, *named]))
        notify = [f"NOTIFY={_NOTIFY[mail.receipts]}", f"ORCPT=rfc822;{_xtext(mail.recipient)}"]
        _expect("RCPT TO", 250, *self.rcpt(mail.recipient, notify if reports else []))
        _expect("DATA", 354, *self.docmd("DATA"))
        self.in_data = True
        for start in range(0, len(data), _AT_ONCE):
            self._line.sendall(data[start : start + _AT_ONCE])

    def commit(self) -> None:
        """The dot. From its first byte on the message may have been accepted."""
        self._line.sendall(b".\r\n")

    def expect_silence(self) -> None:
        """What was said that nobody asked for would be taken for the answer to the dot.

        Raises:
            smtplib.SMTPException: the server speaks out of turn.
        """
        poll = select.poll()
        poll.register(self._line, select.POLLIN)
        pending = self.sock.pending() if isinstance(self.sock, ssl.SSLSocket) else 0
        if pending or poll.poll(0):
            raise smtplib.SMTPException("the server speaks out of turn")

    def getreply(self) -> tuple[int, bytes]:
        """One reply, of at most so many lines. The library's own has no limit."""
        if self.file is None:
            # Nothing is read ahead: what is left over would be taken for the next answer.
            self.file = self._line.makefile("rb", buffering=0)
        lines: list[bytes] = []
        codes: set[bytes] = set()
        while len(lines) < _MAX_LINES:
            line = self.file.readline(_MAX_LINE)
            if not line.endswith(b"\n"):
                break
            lines.append(line[4:].strip(b" \t\r\n"))
            codes.add(line[:3])
            if line[3:4] != b"-":
                # One that says both yes and no (RFC 5321, 4.2.1) is no answer.
                known = len(codes) == 1 and line[:3].isdigit()
                return (int(line[:3]) if known else -1), b"\n".join(lines)
        raise smtplib.SMTPServerDisconnected("the reply broke off, or was too long")


def _expect(stage: str, code: int, said: int, text: bytes, *, about_the_mail: bool = True) -> None:
    # RCPT may be answered 251 (will forward) and 252; every other 25x would be a yes as well.
    if said // 10 != code // 10:
        raise _SaidNoError(stage, said, text, about_the_mail=about_the_mail)


def _xtext(text: str) -> str:
    """As RFC 3461 (4) wants it: Postfix refuses `ops+night@…` for good where it is not."""
    return re.sub(r"[+=]|[^!-~]", lambda one: f"+{ord(one[0]):02X}", text)


def _stuffed(message: bytes) -> bytes:
    """A message as DATA takes it: no line is a dot alone, and the last one has ended."""
    stuffed = re.sub(rb"(?m)^\.", b"..", message)
    return stuffed if stuffed.endswith(b"\r\n") else stuffed + b"\r\n"


def hand_in(server: Server, mail: Mail, journal: Journal) -> Outcome:
    """Hand one mail to a server, once, and say what is known about it.

    The journal's phase is `connected` until the dot, and `writing`, `written`, `status` for it.
    """
    call = watch.add(journal.deadline)
    client = _Client(server, call)
    try:
        journal.reached("connecting")
        client.open()
        journal.reached("connected")
        client.prepare(mail)
        journal.before_first_byte()
        client.expect_silence()
    except HeldBackError as held:
        outcome: Outcome = NotSent(str(held), tried=False)
    except Exception as error:  # noqa: BLE001  before the dot every error proves the same
        outcome = _before_the_dot(error, call)
    else:
        outcome = _commit(client, mail, journal, call)
    finally:
        watch.remove(call)
        _leave(client)
    return outcome


def sign_in(server: Server, deadline: float) -> Outcome | None:
    """Connect and sign in, and hand in nothing. What failed, or None."""
    call = watch.add(deadline)
    client = _Client(server, call)
    try:
        client.open()
    except Exception as error:  # noqa: BLE001  whatever it is, it is told to an operator
        return _before_the_dot(error, call)
    finally:
        watch.remove(call)
        _leave(client)
    return None


def _before_the_dot(error: Exception, call: Watched) -> Outcome:
    if isinstance(error, ForbiddenAddressError):
        return Refused(str(error))
    if isinstance(error, _SaidNoError) and error.code == _WANTS_A_NAME:
        return Unauthorised(str(error), response=error.response)
    if isinstance(error, _SaidNoError) and error.about_the_mail and 400 <= error.code < 600:
        return Refused(str(error), permanent=error.code >= 500, response=error.response)
    if call.over:
        return NotSent("the call's time was over before the final dot")
    if isinstance(error, smtplib.SMTPAuthenticationError):
        why = f"the server does not let us in: {error.smtp_code}"
        # RFC 4954: 454 is a failure for now; 534, 535 and 538 are about the credential.
        return Unauthorised(why) if error.smtp_code >= 500 else NotSent(why)
    return NotSent(f"before the final dot: {_worded(error)}")


def _worded(error: Exception) -> str:
    return (
        str(error) if isinstance(error, _SaidNoError) else f"{type(error).__name__}: {error}"[:300]
    )


def _commit(client: _Client, mail: Mail, journal: Journal, call: Watched) -> Outcome:
    """The dot, and what the server says to it."""
    try:
        journal.reached("writing")
        client.commit()
        journal.wrote(len(mail.message))
        journal.reached("written")
        code, text = client.getreply()
        client.in_data = False
        journal.reached("status")
    except Exception as error:  # noqa: BLE001  after the dot every error proves the same
        why = "the call's time was over" if call.over else _worded(error)
        return Ambiguous(f"{why}, after the final dot")
    return _outcome_of(code, text)


def _outcome_of(code: int, text: bytes) -> Outcome:
    said = _SaidNoError("after the final dot", code, text)
    if 200 <= code < 300:
        queued = _QUEUED_AS.search(said.response)
        name = next(filter(None, queued.groups()), "") if queued else ""
        return Accepted(name, response=said.response)
    if 400 <= code < 600:
        return Refused(str(said), permanent=code >= 500, response=said.response)
    return Ambiguous(f"an answer that is none, {said}", response=said.response)


def _leave(client: _Client) -> None:
    """Say good-bye without waiting for an answer; in the middle of a message, just go."""
    sock, client.sock = client.sock, None
    if sock is None:
        return
    with suppress(OSError), sock:  # it may have left before us
        if not client.in_data:
            sock.settimeout(_GOOD_BYE_S)
            sock.sendall(b"QUIT\r\n")
    client.close()
