"""Takes a credential's secrets out of texts, in whatever spelling a peer may echo them."""

import base64
import html
import json
import re
from collections.abc import Iterator
from functools import lru_cache

SHORTEST = 6  # characters; a shorter one would also be found where it is not meant
MASK = "[secret]"
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")


def without_secrets(text: str, secrets: str, *, cut: bool = False) -> str:
    """The text with every secret masked: as it is, URL-quoted, in base64, in JSON or in HTML.

    Args:
        text: what is to be kept.
        secrets: what the credential's reference leads to: one secret or, while it is being
            replaced, several with white space between.
        cut: the text may have been cut off, so that a secret's beginning at its end counts too.
    """
    pattern = _pattern(secrets)
    if pattern is None:
        return text
    text = pattern.sub(MASK, text)
    return _without_beginning(text, secrets) if cut else text


def _without_beginning(text: str, secrets: str) -> str:
    for one in _pieces(secrets):
        for length in range(min(len(one), len(text)), SHORTEST - 1, -1):
            if text.endswith(one[:length]):
                return text[:-length] + MASK
    return text


@lru_cache(maxsize=64)
def _pattern(secrets: str) -> re.Pattern[str] | None:
    spellings = {text for one in _pieces(secrets) for text in (one, *_in_base64(one))}
    if not spellings:
        return None
    # The longest first: one secret may be a part of another.
    ordered = sorted(spellings, key=lambda text: (-len(text), text))
    return re.compile("|".join("".join(map(_spelled, text)) for text in ordered))


def _pieces(secrets: str) -> list[str]:
    """The whole, each of several, and each without the mark that Standard Webhooks puts before."""
    each = [secrets.strip(), *secrets.split()]
    bare = [one.removeprefix("whsec_") for one in each]
    return [one for one in dict.fromkeys(each + bare) if len(one) >= SHORTEST]


def _in_base64(secret: str) -> Iterator[str]:
    """What is the same in its base64 wherever it begins, as after a user's name and a colon."""
    raw = secret.encode("utf-8", "surrogateescape")
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + raw).decode()
        first, end = -(-before * 8 // 6), (before + len(raw)) * 8 // 6
        yield encoded[first:end]
        yield encoded[first:end].translate(_URL_SAFE)


_URL_SAFE = str.maketrans("+/", "-_")


def _spelled(character: str) -> str:
    """A pattern for one character: as it is, or escaped in one of the ways that are in use."""
    if _UNRESERVED.fullmatch(character):
        return re.escape(character)
    percent = "".join(f"%{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))
    point = f"{ord(character):x}"
    escaped = {
        re.escape(character),
        re.escape(json.dumps(character)[1:-1]),
        re.escape(html.escape(character)),
        rf"(?i:{percent}|\\u{point:0>4}|&#{ord(character)};|&#x0*{point};)",
    }
    if character == "/":
        escaped.add(r"\\/")
    if character == " ":
        escaped.add(r"\+")
    return f"(?:{'|'.join(sorted(escaped))})"
