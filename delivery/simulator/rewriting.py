"""What real surfaces do to a text between accepting and showing it.

Each is something that was met: chats that trim, editors with smart quotes, mailing lists that
wrap lines and add a footer, forums that turn Markdown into HTML.
"""

import re
import textwrap
from collections.abc import Callable, Iterable

TRIM_AT = 200
FOOTER = "\n-- \nYou receive this because you are in this room."


def _trim(text: str) -> str:
    return text[:TRIM_AT]


def _smart_quotes(text: str) -> str:
    curled = re.sub(r'"([^"]*)"', "\u201c\\1\u201d", text)
    return curled.replace("'", "\u2019").replace("--", "\u2014").replace("...", "\u2026")


def _markdown_to_html(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    strong = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escaped)
    return "".join(f"<p>{line}</p>" for line in strong.split("\n") if line)


def _wrap(text: str) -> str:
    return "\n".join(textwrap.fill(line, 40) for line in text.split("\n"))


def _footer(text: str) -> str:
    return text + FOOTER


REWRITES: dict[str, Callable[[str], str]] = {
    "trim": _trim,
    "smart_quotes": _smart_quotes,
    "markdown_to_html": _markdown_to_html,
    "wrap": _wrap,
    "footer": _footer,
}


def rewrite(text: str, names: Iterable[str]) -> str:
    """`text` after each named rewrite, in order. Raises KeyError for an unknown name."""
    for name in names:
        text = REWRITES[name](text)
    return text
