"""Delivery status notifications: what mail servers report about a mail, as mail (RFC 3464, 6522).

The envelope's id, which the server repeats, is the recognizer; where a server on the way dropped
it, our own header in what the report returns is. Nobody who did not see the mail knows either.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from email import message_from_bytes
from email.message import Message
from email.parser import Parser
from email.utils import parsedate_to_datetime

from delivery.channels.contract import Posted, Receipt
from delivery.channels.mime import REF_HEADER
from delivery.errors import BadReceiptError

MAILBOX = "mailbox:"  # where it came from, in place of the address that it was posted to
MAX_REPORT = 131_072  # bytes of one report that are read
# Of so many lines what is said of the mail is among the first. Parts within parts, or nothing but
# line ends, would otherwise keep the parser busy for seconds (measured: 8.7 s for one report).
_MAX_LINES = 2000
REPORT = "multipart/report"

# RFC 3464, 2.3.3. A delay, too, is told by a server that has taken the mail over.
_KINDS = {
    "failed": "bounced",
    "delivered": "delivered",
    "delayed": "accepted",
    "relayed": "accepted",
    "expanded": "accepted",
}
_MOST = 20  # recipients of one report; a mail of ours has one
_XTEXT = re.compile(r"\+([0-9A-F]{2})")
_TOKEN = re.compile(r"[a-z][a-z0-9]{19,24}")


def read_report(posted: Posted) -> Sequence[Receipt]:
    """What one such mail says.

    Raises:
        BadReceiptError: if it is another mail, or names none of ours.
    """
    mail = message_from_bytes(b"\n".join(posted.body.split(b"\n", _MAX_LINES)[:_MAX_LINES]))
    status = _part(mail, "message/delivery-status")
    if mail.get_content_type() != REPORT or status is None:
        raise BadReceiptError("it is no report about a mail")
    blocks = [one for one in _blocks(status) if one.keys()]
    if not blocks:
        raise BadReceiptError("its report is empty")
    recognizer = _recognizer(blocks[0], mail)
    if not recognizer:
        raise BadReceiptError("it names no mail of ours")
    return [_receipt(one, posted, mail, recognizer) for one in blocks[1 : _MOST + 1] if _kind(one)]


def _part(mail: Message, kind: str) -> Message | None:
    return next((one for one in mail.walk() if one.get_content_type() == kind), None)


def _blocks(status: Message) -> Iterator[Message]:
    """The fields about the mail, then those about each recipient."""
    payload = status.get_payload()
    if isinstance(payload, list):
        yield from (one for one in payload if isinstance(one, Message))
        return
    for text in re.split(r"\n\s*\n", str(payload).replace("\r\n", "\n")):
        yield Parser().parsestr(text.strip() + "\n")


def _recognizer(about: Message, mail: Message) -> str:
    said = _XTEXT.sub(lambda one: chr(int(one[1], 16)), about.get("Original-Envelope-Id", ""))
    if _TOKEN.fullmatch(said.strip()):
        return said.strip()
    for part in mail.walk():
        returned = part.get(REF_HEADER, "") or _in_text(part)
        if _TOKEN.fullmatch(returned.strip()):
            return str(returned.strip())
    return ""


def _in_text(part: Message) -> str:
    """Our header where only the header of the mail was returned, as text."""
    if part.get_content_type() != "text/rfc822-headers":
        return ""
    return str(Parser().parsestr(str(part.get_payload()), headersonly=True).get(REF_HEADER, ""))


def _kind(about: Message) -> str:
    return _KINDS.get(str(about.get("Action", "")).split("(")[0].strip().lower(), "")


def _receipt(about: Message, posted: Posted, mail: Message, recognizer: str) -> Receipt:
    fields = (about.get(name, "") for name in ("Action", "Status", "Diagnostic-Code"))
    name = str(mail.get("Message-ID", "")) or hashlib.sha256(posted.body).hexdigest()
    who = str(about.get("Final-Recipient", "")).partition(";")[2].strip()
    return Receipt(
        kind=_kind(about),  # type: ignore[arg-type]  # from a table of these
        receipt_id=f"{name.strip()} {who} {_kind(about)}",
        recognizer=recognizer,
        at=_date(mail) or posted.at,
        said=" ".join(" ".join(str(one) for one in fields if one).split())[:300],
    )


def _date(mail: Message) -> datetime | None:
    try:
        at = parsedate_to_datetime(str(mail.get("Date", "")))
    except ValueError:
        return None
    return at if at.tzinfo else None
