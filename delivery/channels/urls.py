"""One spelling for URLs as destinations; `normalise_url` never changes its answer."""

import ipaddress
import re
from pathlib import Path
from urllib.parse import SplitResult, quote, urlsplit

import idna

from delivery.channels.destinations import MAX_LENGTH, MISSING, check_destination
from delivery.errors import BadDestinationError

_DEFAULT_PORT = {"http": 80, "https": 443}
_RIGHT = "a URL such as https://hooks.example.com/team, without user or fragment"
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
# Kept as they are by quoting: everything RFC 3986 allows in a path or a query, and % itself.
_SAFE = "!$&'()*+,;=:@/?%-._~"


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

    Path and query keep their case and their order: only the receiver knows what they mean. What
    is not ASCII in them is percent-encoded as UTF-8.

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
    path = quote(parts.path or "/", safe=_SAFE)
    query = f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
    url = f"{parts.scheme}://{host}{shown_port}{path}{query}"
    if len(url) > MAX_LENGTH:
        raise BadDestinationError("destination", f"has {len(url)} characters", "at most 1000")
    return url


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
    if not parts.hostname or parts.hostname in MISSING or "%" in parts.hostname:
        raise BadDestinationError("destination", f"{named!r} names no host", _RIGHT)
    if re.search(r"[\s\\]", named) or not _percent_is_right(named):
        raise BadDestinationError("destination", "has a space, a backslash or a stray %", _RIGHT)


def _percent_is_right(url: str) -> bool:
    return re.search(r"%(?![0-9A-Fa-f]{2})", url) is None


def _host(host: str) -> str:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return _name(host)
    return str(address) if address.version == 4 else f"[{address.compressed}]"


def _name(host: str) -> str:
    """A name in ASCII (IDNA 2008 with UTS 46 mapping, as browsers do), without a last dot.

    Names in ASCII are taken as they are, with the underscores that container names have.
    """
    bare = host.removesuffix(".")
    if bare.isascii() and len(bare) <= 253 and all(map(_LABEL.fullmatch, bare.split("."))):
        return bare
    try:
        return idna.encode(bare, uts46=True).decode()
    except idna.IDNAError as error:
        raise BadDestinationError("destination", f"is no host name: {error}", _RIGHT) from error
