"""The mailbox where the mail server itself keeps a copy of what it accepts, read over IMAP."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from email.utils import parseaddr

from delivery.channels.contract import Finding, Json, Query
from delivery.channels.declaration import Surface
from delivery.channels.imap import (
    Item,
    Mailbox,
    MailboxError,
    Reader,
    opened,
    with_field,
    with_other,
)
from delivery.channels.mime import REF_HEADER
from delivery.channels.scanning import Page, Scan, Seen
from delivery.channels.secrets import read_secret
from delivery.channels.settings import (
    Setting,
    Settings,
    choice,
    flag,
    is_line,
    is_plain,
    number,
    text,
)

_FIELDS = ("FROM", "TO", REF_HEADER)


def mailbox_settings(prefix: str, what: str) -> dict[str, Setting]:
    """The settings of a mailbox that is read over IMAP."""
    return {
        f"{prefix}_host": text(
            f"The IMAP server of {what}; empty: none.", right="a host name", is_right=is_plain
        ),
        f"{prefix}_port": number("Its port.", default=993, least=1, most=65535),
        f"{prefix}_security": choice("How that connection is encrypted.", "tls", "none"),
        f"{prefix}_user": text("Who reads it.", right="a name without spaces", is_right=is_plain),
        f"{prefix}_secret_ref": text(
            "Where its password is read: env:NAME or file:/path.",
            right="env:NAME or file:/absolute/path",
            is_right=lambda ref: ref.startswith(("env:", "file:/")),
        ),
        f"{prefix}_folder": text(
            "Its folder.", default="INBOX", right="printable ASCII", is_right=is_line
        ),
    }


ARCHIVE: Settings = {
    **mailbox_settings("archive", "a mailbox where the mail server keeps a copy"),
    "archive_complete": flag(
        "Whether a mail that is not there after processing_s was certainly not accepted."
    ),
}
REPORTS: Settings = mailbox_settings("reports", "the mailbox that reports about mail come to")


def mailbox_of(option: Callable[[str], Json], prefix: str = "archive") -> Mailbox:
    """The mailbox that the settings of this prefix name.

    Raises:
        SecretError: if its password cannot be read.
    """
    return Mailbox(
        host=option(f"{prefix}_host"),
        port=int(option(f"{prefix}_port")),
        security=option(f"{prefix}_security"),
        user=option(f"{prefix}_user"),
        password=read_secret(option(f"{prefix}_secret_ref")),
        folder=option(f"{prefix}_folder"),
        allow_private=option("allow_private"),
        ca_file=option("ca_file"),
    )


def search_archive(
    archive: Mailbox, query: Query, surface: Surface, sender: str, deadline: float
) -> Finding:
    """Whether a mail is there, by its recognizer, from us and to whom it was meant for."""
    asked = with_field(REF_HEADER, query.recognizer, query.since)
    searched = f"IMAP, in {archive.folder}: UID SEARCH {asked}"
    try:
        with opened(archive, deadline) as reader:
            page = _page(reader, query, asked, sender)
    except MailboxError as error:
        return Finding("surface_scan", "inconclusive", searched, str(error))
    scan = Scan(query, surface, lambda seen: seen.hidden != query.recognizer, max_pages=1)
    return scan.read(lambda _: page, searched)


def _page(reader: Reader, query: Query, asked: str, sender: str) -> Page:
    """What was found or, as the control, the newest other mail of ours."""
    found = reader.search(asked)
    items = reader.fetch(found or _control(reader, query), _FIELDS)
    return Page(
        messages=tuple(_seen(item, query) for item in items),
        next=None,
        reader=sender,
        may_read=True,  # the folder was opened
        whole_history=True,
    )


def _control(reader: Reader, query: Query) -> list[str]:
    """One other mail of these days; where there was none, of these weeks."""
    for days in (0, 30):
        since = query.since - timedelta(days=days)
        if others := reader.search(with_other(REF_HEADER, query.recognizer, since)):
            return others[:1]
    return []


def _seen(item: Item, query: Query) -> Seen:
    """One mail. By whom it is counts only where it went where it should."""
    fields: Mapping[str, str] = item.fields
    author = parseaddr(fields.get("from", ""))[1].lower()
    recipient = parseaddr(fields.get("to", ""))[1].lower()
    token = fields.get(REF_HEADER.lower(), "")
    if token == query.recognizer and recipient != query.destination:
        author = f"{author}, addressed to {recipient}"
    # Not by its Message-ID, which a second copy has as well.
    return Seen(f"uid {item.uid}", author, item.at, "", token)
