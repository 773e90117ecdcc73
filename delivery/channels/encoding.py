"""A request as bytes: nothing in it may mean something else on the wire than it means here."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from delivery.channels.connections import Peer

_DEFAULT_PORT = {"http": 80, "https": 443}
_URL = re.compile(r"[\x21-\x7e]+")
_NAMES = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, token
_VALUES = re.compile(r"[\t\x20-\x7e]*")  # ASCII without line ends and NUL
_OWN = {"Accept-Encoding": "identity", "User-Agent": "counterfoil"}


class MalformedCallError(Exception):
    """A request that must not be written: it would not mean on the wire what it means here."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a URL leads: the peer, what it is called there, and what is asked of it."""

    peer: Peer
    host: str
    path: str


@lru_cache(maxsize=1024)
def target_of(url: str, *, allow_private: bool, ca_file: str) -> Target:
    """The target of a URL under a channel's rules.

    Raises:
        MalformedCallError: if it is none that can be called.
    """
    if not _URL.fullmatch(url):
        raise MalformedCallError("the URL must be printable ASCII without spaces")
    try:
        parts = urlsplit(url)
        port = parts.port or _DEFAULT_PORT.get(parts.scheme)
    except ValueError as error:
        raise MalformedCallError(f"the URL cannot be read: {error}") from None
    if parts.scheme not in _DEFAULT_PORT or port is None or not parts.hostname:
        raise MalformedCallError("the URL must be http:// or https:// with a host")
    tls = parts.scheme == "https"
    peer = Peer(parts.hostname, port, tls, allow_private, ca_file if tls else "")
    path = parts.path or "/"
    asked = f"{path}?{parts.query}" if parts.query else path
    return Target(peer, parts.netloc.rpartition("@")[2], asked)


def encode(method: str, target: Target, headers: Mapping[str, str], body: bytes) -> bytes:
    """The request as it goes on the wire, with a Content-Length and without compression.

    Raises:
        MalformedCallError: if a header could be read as something else (CR, LF and NUL above all).
    """
    fields = {"Host": target.host, **_OWN, "Content-Length": str(len(body)), **headers}
    # All at once: each pattern is a class of characters, so the parts are right if the whole is.
    if not (
        all(fields)
        and _NAMES.fullmatch("".join(fields))
        and _VALUES.fullmatch("".join(fields.values()))
    ):
        raise MalformedCallError("a header has a character that may not be sent")
    lines = [f"{method} {target.path} HTTP/1.1", *map(": ".join, fields.items()), "", ""]
    return "\r\n".join(lines).encode("ascii") + body
