"""One spelling for URLs as destinations; `normalise_url` never changes its answer."""

import ipaddress
import re
import unicodedata
from pathlib import Path
from urllib.parse import SplitResult, quote, unquote_to_bytes, urlsplit

import idna

from delivery.channels.destinations import MAX_LENGTH, MISSING, check_destination
from delivery.errors import BadDestinationError

_DEFAULT_PORT = {"http": 80, "https": 443}
_RIGHT = "a URL such as https://hooks.example.com/team, without user or fragment"
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
# Kept as they are by quoting: everything RFC 3986 allows in a path or a query, and % itself.
_SAFE = "!$&'()*+,;=:@/?%-._~"
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")  # RFC 3986, 2.3
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


def is_http_url(url: str) -> bool:
    """Whether this is an absolute http or https URL in printable ASCII."""
    parts = urlsplit(url)
    return (
        parts.scheme in _DEFAULT_PORT and bool(parts.hostname) and url.isascii() and " " not in url
    )


def is_token(name: str) -> bool:
    """Whether this can be the name of a header field (RFC 9110, token)."""
    return re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) is not None


def is_file(path: str) -> bool:
    return Path(path).is_file()


def normalise_url(destination: str, *, allow_http: bool) -> str:
    """Scheme and host in lower case, the host in ASCII, no default port, never an empty path.

    Path and query keep their case and their order, and slashes that are doubled: only the receiver
    knows what they mean. What is not ASCII in them is composed (NFC) and percent-encoded as
    UTF-8; percent-encoding is brought into the form of RFC 3986, 6.2.2: `%2f` becomes `%2F`, and
    `%7E` becomes `~`, as do all characters that need no encoding. An encoded reserved character
    stays encoded, since it means something else. A host's last dot, and the `?` of an empty query,
    are dropped: no two recipients are known that differ in them only.

    Path segments `.` and `..`, in any spelling, are refused: a receiver that resolves them acts
    elsewhere than where a credential's rule allows.

    Raises:
        BadDestinationError: naming what is wrong.
    """
    named = check_destination(destination, _RIGHT)
    try:
        parts = urlsplit(named)
        port = parts.port
    except ValueError as error:
        raise BadDestinationError("destination", f"is no URL: {error}", _RIGHT) from error
    _check_parts(parts, named, allow_http=allow_http)
    host = _host(parts.hostname or "")
    shown_port = "" if port in (None, _DEFAULT_PORT[parts.scheme]) else f":{port}"
    query = f"?{_encoded(parts.query)}" if parts.query else ""
    url = f"{parts.scheme}://{host}{shown_port}{_path(parts.path)}{query}"
    if len(url) > MAX_LENGTH:
        raise BadDestinationError("destination", f"has {len(url)} characters", "at most 1000")
    return url


def _path(given: str) -> str:
    path = _encoded(given or "/")
    for segment in re.split(r"[/\\]", _wholly_decoded(path)):
        # What follows a semicolon are parameters: some receivers take `..;` for `..`.
        if segment.partition(";")[0] in {".", ".."}:
            right = f"{_RIGHT}; a path without . and .. segments, also encoded ones"
            raise BadDestinationError("destination", f"has a segment {segment!r}", right)
    return path


def _wholly_decoded(path: str) -> str:
    """Decoded until nothing changes, for a proxy that decodes may stand before one that does."""
    decoded = unquote_to_bytes(path).decode("latin-1")
    while decoded != path:
        path, decoded = decoded, unquote_to_bytes(decoded.encode("latin-1")).decode("latin-1")
    return decoded


def _encoded(text: str) -> str:
    """In the one percent-encoding of RFC 3986, 6.2.2."""
    quoted = quote(unicodedata.normalize("NFC", text), safe=_SAFE)
    return re.sub("%[0-9A-Fa-f]{2}", _one_encoding, quoted)


def _one_encoding(match: re.Match[str]) -> str:
    character = chr(int(match[0][1:], 16))
    return character if _UNRESERVED.fullmatch(character) else match[0].upper()


def _check_parts(parts: SplitResult, named: str, *, allow_http: bool) -> None:
    if parts.scheme not in _DEFAULT_PORT:
        raise BadDestinationError("destination", f"{named!r} has no http(s) scheme", _RIGHT)
    if parts.scheme == "http" and not allow_http:
        right = "an https:// URL, or allow_http: true in the channel's settings"
        raise BadDestinationError("destination", "is not encrypted", right)
    if "@" in parts.netloc:
        right = f"{_RIGHT}; put the secret into the channel's credential"
        raise BadDestinationError("destination", "has a user or password", right)
    if parts.fragment or named.endswith("#"):
        raise BadDestinationError("destination", "has a fragment, which is never sent", _RIGHT)
    if not parts.hostname or "%" in parts.hostname:
        raise BadDestinationError("destination", f"{named!r} names no host", _RIGHT)
    if parts.port == 0:
        raise BadDestinationError("destination", "has port 0, where nobody can listen", _RIGHT)
    if re.search(r"[\s\\]", named) or not _percent_is_right(named):
        raise BadDestinationError("destination", "has a space, a backslash or a stray %", _RIGHT)


def _percent_is_right(url: str) -> bool:
    return re.search(r"%(?![0-9A-Fa-f]{2})", url) is None


def _host(host: str) -> str:
    name = _name(host) if ":" not in host else host.removesuffix(".")
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        if ":" not in name and not _NUMBER.fullmatch(name.rpartition(".")[2]):
            return name
        # `127.1` and `0x7f000001` lead to an address, too; no name's last label is a number.
        right = "an address in its usual form, such as 192.0.2.7 or [2001:db8::7]"
        raise BadDestinationError("destination", f"{host!r} is no address", right) from None
    if isinstance(address, ipaddress.IPv6Address):
        # Where an IPv4-mapped address leads, over IPv4: the same place.
        inner = address.ipv4_mapped
        return f"[{address.compressed}]" if inner is None else str(inner)
    return str(address)


def _name(host: str) -> str:
    """A name in ASCII (IDNA 2008 with UTS 46 mapping, as browsers do), without a last dot.

    Names in ASCII are taken as they are, with the underscores that container names have.
    """
    try:
        mapped = host if host.isascii() else idna.encode(host, uts46=True).decode()
    except idna.IDNAError as error:
        raise BadDestinationError("destination", f"is no host name: {error}", _RIGHT) from error
    bare = mapped.removesuffix(".")
    if bare in MISSING:
        raise BadDestinationError("destination", f"{host!r} names no host", _RIGHT)
    if len(bare) > 253 or not all(map(_LABEL.fullmatch, bare.split("."))):
        raise BadDestinationError("destination", f"{host!r} is no host name", _RIGHT)
    return bare
