"""Content of channels that send mail: a text, or an object with text, subject and html."""

from dataclasses import dataclass
from typing import Any

from delivery.channels.settings import is_line
from delivery.channels.texts import text_of
from delivery.errors import BadContentError

Json = Any
RIGHT = 'a text, or an object with "text" and, if wanted, "subject" and "html"'
_PARTS = {"text", "html", "subject"}


@dataclass(frozen=True, slots=True)
class MailContent:
    """What a mail says. `html` is empty where there is none."""

    subject: str
    text: str
    html: str


def check_mail_content(content: Json) -> None:
    """Refuse what no mail could carry.

    Raises:
        BadContentError: naming it.
    """
    text_of(content)
    if not isinstance(content, dict):
        return
    if unknown := sorted(set(content) - _PARTS):
        # An attachment that is silently left out would be a message that is not what was owed.
        listed = ", ".join(unknown)
        raise BadContentError("content", f"has {listed}, which no mail carries here", RIGHT)
    subject, html = content.get("subject", "x"), content.get("html", "x")
    if not isinstance(subject, str) or not is_line(subject):
        raise BadContentError("content", "has a subject that is not one printable line", RIGHT)
    if not isinstance(html, str) or not html.strip():
        raise BadContentError("content", "has html that is no text", RIGHT)


def read_mail_content(content: Json, subject: str) -> MailContent:
    """Content that was checked. `subject`: for content that has none."""
    said = content if isinstance(content, dict) else {}
    return MailContent(said.get("subject", subject), text_of(content), said.get("html", ""))
