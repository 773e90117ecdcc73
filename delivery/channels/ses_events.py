"""What becomes of a mail, as SES tells SNS: event publishing, and the older notifications.

Source: docs.aws.amazon.com/ses, "Contents of event data that Amazon SES publishes to Amazon SNS".
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from delivery.channels.contract import Receipt
from delivery.channels.receipts import header_in, reported_at
from delivery.errors import BadReceiptError

# A reject comes after the acceptance, when something harmful was found in the mail.
_KINDS = {
    "Send": "accepted",
    "DeliveryDelay": "accepted",
    "Delivery": "delivered",
    "Bounce": "bounced",
    "Complaint": "complained",
    "Reject": "failed",
    "Rendering Failure": "failed",
}


def read_event(said: Mapping[str, Any], tag: str, header: str) -> Sequence[Receipt]:
    """The report in a verified message of SNS.

    Args:
        said: the message.
        tag: the mail's tag that holds the recognizer.
        header: the header field that does, where no event publishing is set up.

    Raises:
        BadReceiptError: if it is no event of SES.
    """
    event = _object(said.get("Message"))
    named = str(event.get("eventType") or event.get("notificationType") or "")
    mail = event.get("mail")
    kind = _KINDS.get(named)
    if kind is None or not isinstance(mail, dict):
        return []
    return [
        Receipt(
            kind=kind,  # type: ignore[arg-type]  # from a table of these
            receipt_id=str(said.get("MessageId", "")),
            provider_message_id=str(mail.get("messageId", "")),
            recognizer=_tagged(mail, tag) or header_in(mail.get("headers"), header),
            at=reported_at(said.get("Timestamp")),
            said=" ".join(filter(None, (named, _detail(event, named)))),
        )
    ]


def _object(text: Any) -> dict[str, Any]:
    try:
        event = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        raise BadReceiptError("its Message is no event of SES")
    return event


def _tagged(mail: Mapping[str, Any], tag: str) -> str:
    tags = mail.get("tags")
    values = tags.get(tag) if isinstance(tags, dict) else None
    return str(values[0]) if isinstance(values, list) and values else ""


def _detail(event: Mapping[str, Any], named: str) -> str:
    """The kind of a bounce, and what the server said."""
    about = event.get(named.lower())
    if not isinstance(about, dict):
        return ""
    words = [
        about.get("bounceType"),
        about.get("bounceSubType"),
        about.get("complaintFeedbackType"),
    ]
    return " ".join(str(word) for word in words if word)[:200]
