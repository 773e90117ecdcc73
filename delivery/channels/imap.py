"""Reading a mailbox of our own, to see what a mail server really took. Read-only, and watched.

Every argument is quoted here: an unquoted search of several words was answered with OK and nothing
although the mail was there (measured), which must never count as absence.
"""

import imaplib
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from email.parser import BytesHeaderParser
from email.policy import default
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from delivery.channels.connections import Peer, open_connection
from delivery.channels.deadlines import Watched, watch

# RFC 3501, whatever the locale.
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()  # noqa: SIM905
_MOST = 50  # messages of one search that are looked at, the newest
_HEAD = 4096  # bytes of a message's chosen header fields that are read
# Bytes of one literal, and of all that is read before the next message: a server may announce as
# many as it likes, and the library would make room for them.
_MAX_LITERAL, _MAX_SAID = 1_048_576, 2_097_152


class MailboxError(Exception):
    """The mailbox could not be read; nothing is known about what is in it."""


@dataclass(frozen=True, slots=True)
class Mailbox:
    """One folder of one account."""

    host: str
    port: int
    security: Literal["tls", "none"]
    user: str
    password: str
    folder: str
    allow_private: bool = False
    ca_file: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """One message in it. `fields` are the header fields that were asked for, by lower-case name."""

    uid: str
    at: datetime
    fields: dict[str, str]


class _Session(imaplib.IMAP4):
    """The library's protocol on a connection that was checked and is watched."""

    def __init__(self, mailbox: Mailbox, call: Watched) -> None:
        self._mailbox = mailbox
        self._call = call
        self.room = _MAX_SAID
        super().__init__(mailbox.host, mailbox.port)

    def _create_socket(self, timeout: float | None) -> socket.socket:
        del timeout
        box = self._mailbox
        peer = Peer(
            box.host, box.port, box.security == "tls", box.allow_private, box.ca_file, protocol=""
        )
        sock = open_connection(peer, self._call).sock
        sock.settimeout(self._call.left())
        return sock

    def read(self, size: int) -> bytes:
        if size > _MAX_LITERAL:
            raise self.abort(f"the server announces {size} bytes")
        return self._counted(super().read(size))

    def readline(self) -> bytes:
        return self._counted(super().readline())

    def _counted(self, said: bytes) -> bytes:
        self.room -= len(said)
        if self.room < 0:
            raise self.abort("the server says too much")
        return said


@contextmanager
def opened(mailbox: Mailbox, deadline: float) -> Iterator["Reader"]:
    """The folder, open for reading until the deadline (a moment on `boottime()`).

    Raises:
        MailboxError: whatever went wrong, in words.
    """
    call = watch.add(deadline)
    session: _Session | None = None
    try:
        session = _Session(mailbox, call)
        _said(session.login(_quoted(mailbox.user), mailbox.password))
        _said(session.select(_quoted(mailbox.folder), readonly=True))
        yield Reader(session)
    except (OSError, imaplib.IMAP4.error, ValueError) as error:
        why = "the time for it was over" if call.over else f"{type(error).__name__}: {error}"[:300]
        raise MailboxError(why) from None  # the error's own context may quote the password
    finally:
        watch.remove(call)
        if session is not None:
            _close(session)


def _close(session: _Session) -> None:
    with suppress(OSError):  # it has left before us
        session.shutdown()


class Reader:
    """Searches in an open folder."""

    def __init__(self, session: _Session) -> None:
        self._session = session

    def search(self, query: str) -> list[str]:
        """The UIDs that match, the newest first."""
        (found,) = _said(self._session.uid("SEARCH", query)) or (b"",)
        return sorted((found or b"").decode("ascii").split(), key=int, reverse=True)

    def fetch(self, uids: Sequence[str], fields: Sequence[str]) -> list[Item]:
        """The newest of these messages, with these header fields."""
        chosen = uids[:_MOST]
        if not chosen:
            return []
        wanted = f"(UID INTERNALDATE BODY.PEEK[HEADER.FIELDS ({' '.join(fields)})]<0.{_HEAD}>)"
        said = _said(self._session.uid("FETCH", ",".join(chosen), wanted))
        items = [_item(one) for one in said if isinstance(one, tuple)]
        return sorted(items, key=lambda item: item.at, reverse=True)

    def fetch_whole(self, uid: str, most: int) -> bytes:
        """One message as it is, cut after so many bytes; empty if it is gone."""
        self._session.room = _MAX_SAID
        said = _said(self._session.uid("FETCH", uid, f"(UID BODY.PEEK[]<0.{most}>)"))
        return next((one[1] for one in said if isinstance(one, tuple)), b"")


def with_field(field: str, text: str, since: datetime) -> str:
    """A search for messages of that day or later with this text in a header field.

    A day earlier is taken in: the server compares dates in a zone of its own.
    """
    return f"SINCE {_day(since)} HEADER {field} {_quoted(text)}"


def with_other(field: str, text: str, since: datetime) -> str:
    """A search for messages, as recent, that have this header field, but with another text.

    All that an archive ever took would be a longer answer than the library reads.
    """
    return f'SINCE {_day(since)} HEADER {field} "" NOT HEADER {field} {_quoted(text)}'


def _day(moment: datetime) -> str:
    day = date.fromordinal(moment.astimezone(UTC).date().toordinal() - 1)
    return f"{day.day}-{_MONTHS[day.month - 1]}-{day.year}"


def _quoted(text: str) -> str:
    """A quoted string (RFC 3501).

    Raises:
        ValueError: if it has a character that none can carry.
    """
    if not ((text.isascii() and text.isprintable()) or text == ""):
        raise ValueError("a mailbox's name or a search has a character outside printable ASCII")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _said(answer: tuple[str, list[Any]]) -> list[Any]:
    """What was answered with OK. A NO raises nothing by itself."""
    kind, data = answer
    if kind != "OK":
        raise imaplib.IMAP4.error(f"{kind}: {data!r}"[:300])
    return data


_UID = re.compile(rb"\bUID (\d+)")
_DATE = re.compile(rb'INTERNALDATE "([^"]+)"')


def _item(answered: tuple[bytes, bytes]) -> Item:
    told, head = answered
    uid, at = _UID.search(told), _DATE.search(told)
    if uid is None or at is None:
        raise ValueError(f"the server tells no UID or date: {told[:200]!r}")
    read = BytesHeaderParser(policy=default).parsebytes(head)
    fields = {name.lower(): " ".join(str(value).split()) for name, value in read.items()}
    return Item(uid[1].decode(), parsedate_to_datetime(at[1].decode().strip()), fields)
