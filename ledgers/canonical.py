"""One spelling for every value that is stored, hashed or compared.

Canonical JSON here: keys sorted, no white space, no escapes beyond the necessary, UTF-8. A value
that some part of the chain (PostgreSQL, JSON, UTF-8) could not carry unchanged is refused when it
is recorded, since it would otherwise fail later, when only a worker is listening.
"""

import hashlib
import json
import math
import unicodedata
from typing import Any

from ledgers.errors import InvalidValueError

Json = Any  # None, bool, int, float, str, list and dict with str keys; checked by `canonical_json`

MAX_NAME = 200  # characters
MAX_CONTENT = 1_048_576  # bytes of canonical JSON
MAX_DEPTH = 64
# PostgreSQL's and Python's own limits are far wider; other languages' readers are not.
MAX_INTEGER = 2**63 - 1


def canonical_json(value: Json, field: str, limit: int = MAX_CONTENT) -> str:
    """The canonical JSON text of a value.

    Args:
        value: JSON types only.
        field: what errors call it.
        limit: the most UTF-8 bytes that the text may have.

    Raises:
        InvalidValueError: naming the place inside the value that is wrong.
    """
    _check(value, field, 0)
    text = json.dumps(
        value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )
    size = len(text.encode())
    if size > limit:
        raise InvalidValueError(field, f"is {size} bytes long", f"at most {limit} bytes as JSON")
    return text


def _check(value: Json, field: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise InvalidValueError(field, "is nested too deeply", f"at most {MAX_DEPTH} levels")
    if isinstance(value, list | tuple | dict):
        _check_items(value, field, depth)
    elif isinstance(value, str):
        check_text(value, field)
    elif isinstance(value, int | float):
        _check_number(value, field)
    elif value is not None:
        kind = type(value).__name__
        raise InvalidValueError(
            field, f"is of type {kind}", "JSON: text, number, true, false, null, list or object"
        )


def _check_items(value: Any, field: str, depth: int) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            _check_key(key, field)
            _check(item, f"{field}.{key}", depth + 1)
    else:
        for index, item in enumerate(value):
            _check(item, f"{field}[{index}]", depth + 1)


def _check_key(key: object, field: str) -> None:
    if not isinstance(key, str):
        raise InvalidValueError(field, f"has the key {key!r}", "text as every key")
    check_text(key, f"a key of {field}")


def _check_number(value: float, field: str) -> None:
    if not isinstance(value, int) and not math.isfinite(value):
        raise InvalidValueError(field, f"is {value!r}", "a finite number")
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        raise InvalidValueError(field, "is too large a whole number", "at most 64 bits, or text")


def check_text(value: str, field: str) -> str:
    """The text itself, if every part of the chain can carry it.

    Raises:
        InvalidValueError: on NUL (PostgreSQL refuses it) and lone surrogates (UTF-8 does).
    """
    if "\x00" in value:
        raise InvalidValueError(field, "contains a NUL character", "text without NUL")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidValueError(
            field, f"has a lone surrogate at character {error.start}", "whole Unicode characters"
        ) from error
    return value


def check_name(value: object, field: str, limit: int = MAX_NAME) -> str:
    """A name given by a caller: run, step, message, agent.

    Raises:
        InvalidValueError: unless it is printable text of 1 to `limit` characters without white
            space at its ends. Names are compared as they are, so only NFC is taken: two
            spellings that look alike would be two identities.
    """
    if not isinstance(value, str):
        raise InvalidValueError(field, f"is {shown(value)}", f"text of 1 to {limit} characters")
    check_text(value, field)
    if not value or value != value.strip():
        raise InvalidValueError(
            field, "is empty or has white space at an end", f"text of 1 to {limit} characters"
        )
    if len(value) > limit:
        raise InvalidValueError(field, f"is {len(value)} characters long", f"at most {limit}")
    if not value.isprintable():
        raise InvalidValueError(field, "has an unprintable character", "printable characters only")
    if unicodedata.normalize("NFC", value) != value:
        raise InvalidValueError(field, "is not in composed form", "Unicode normal form C (NFC)")
    return value


def storable(text: str, limit: int = 4096) -> str:
    """A stranger's text as PostgreSQL can keep it: no NUL, no lone surrogate, at most so long."""
    return text[:limit].replace("\x00", "�").encode("utf-8", "replace").decode("utf-8")


def shown(value: object, limit: int = 60) -> str:
    """A refused value for its refusal: cut, and in words where it cannot be written out."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python writes
        return "a whole number of thousands of digits"
    return text if len(text) <= limit else f"{text[:limit]}…"


def sha256(data: str | bytes) -> str:
    """Hex SHA-256 of bytes, or of text as UTF-8."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()
