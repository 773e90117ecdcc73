"""A mail as bytes: the same message always gives the same ones, on every version of Python.

So there is no date in it (`smtp` puts it in front of each attempt), and the boundary between its
parts is derived. Everything is ASCII on the wire: no server has to be asked what it can take.
"""

import base64
import html
import quopri
import re
from dataclasses import dataclass

REF_HEADER = "X-Counterfoil-Ref"
_ENCODED_WORD = 45  # bytes that fit in one encoded word of 75 characters: RFC 2047, 2


@dataclass(frozen=True, slots=True)
class Letter:
    """What a mail says.

    `hidden`: whether the recognizer stands in a header field. `last_line`: what is appended to the
    text, visibly; empty for nothing.
    """

    sender: str
    sender_name: str
    recipient: str
    subject: str
    text: str
    html: str
    recognizer: str
    hidden: bool
    last_line: str


def compose(letter: Letter) -> bytes:
    """The whole message but its date, with CRLF line ends and no dot-stuffing."""
    plain = _part("plain", _with_line(letter.text, letter.last_line))
    if not letter.html:
        content = plain
    else:
        mark = f"=_{letter.recognizer}"
        both = [plain, _part("html", _with_paragraph(letter.html, letter.last_line))]
        opened = "".join(f"--{mark}\n{part}\n" for part in both)
        content = f'Content-Type: multipart/alternative; boundary="{mark}"\n\n{opened}--{mark}--\n'
    return "\r\n".join(("\n".join(_head(letter)) + "\n" + content).split("\n")).encode("ascii")


def _head(letter: Letter) -> list[str]:
    domain = letter.sender.rpartition("@")[2]
    name = f"{_words(letter.sender_name)} <{letter.sender}>"
    ref = [f"{REF_HEADER}: {letter.recognizer}"] if letter.hidden else []
    return [
        f"From: {name if letter.sender_name else letter.sender}",
        f"To: {letter.recipient}",
        f"Subject: {_words(letter.subject)}",
        f"Message-ID: <{letter.recognizer}@{domain}>",
        # RFC 3834: automatic responders do not answer it.
        "Auto-Submitted: auto-generated",
        *ref,
        "MIME-Version: 1.0",
    ]


def _words(text: str) -> str:
    """A header's text: as it is where nothing in it could be misread, else in encoded words."""
    if re.fullmatch(r"[A-Za-z0-9 .!?'*+/_-]{0,60}", text) and "=?" not in text:
        return text
    words, word = [], b""
    for char in text:
        encoded = char.encode()
        if len(word) + len(encoded) > _ENCODED_WORD:
            words.append(word)
            word = b""
        word += encoded
    return "\n ".join(f"=?utf-8?B?{base64.b64encode(one).decode()}?=" for one in [*words, word])


def _part(subtype: str, text: str) -> str:
    lines = re.sub(r"\r\n?", "\n", text).rstrip("\n") + "\n"
    return (
        f"Content-Type: text/{subtype}; charset=utf-8\n"
        "Content-Transfer-Encoding: quoted-printable\n\n"
        + quopri.encodestring(lines.encode()).decode("ascii")
    )


def _with_line(text: str, line: str) -> str:
    return f"{text.rstrip()}\n\n{line}" if line else text


def _with_paragraph(document: str, line: str) -> str:
    """The line as the last paragraph inside the document's body."""
    if not line:
        return document
    paragraph = f"<p>{html.escape(line)}</p>"
    before, end, after = document.rpartition("</body>")
    return f"{before}{paragraph}{end}{after}" if end else f"{document}\n{paragraph}"
