"""One spelling for mail addresses as destinations; `normalise_address` never changes its answer.

Only `local@domain` with a plain local part: no display name, no quotes, no comments, no literal.
What is refused here could only be meant otherwise than it would be understood by some server.
"""

import re

import idna

from delivery.channels.destinations import MISSING, check_destination
from delivery.errors import BadDestinationError

_RIGHT = "a mail address such as ops@example.com, without a name around it"
_LOCAL = re.compile(r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*")  # RFC 5322
_MAX_LOCAL = 64  # octets: RFC 5321, 4.5.3.1.1
_MAX_DOMAIN = 253


def normalise_address(destination: str) -> str:
    """The address in lower case, its domain in ASCII.

    The local part too: RFC 5321 (2.4) warns that exploiting its case impedes interoperability, and
    an agent that spells one person in two ways must not write to them twice.

    Raises:
        BadDestinationError: saying what a right one looks like.
    """
    named = check_destination(destination, _RIGHT)
    local, at, domain = named.rpartition("@")
    if not at:
        raise BadDestinationError("destination", f"{named!r} has no @", _RIGHT)
    local = local.lower()
    if local in MISSING or len(local) > _MAX_LOCAL or not _LOCAL.fullmatch(local):
        raise BadDestinationError("destination", f"{named!r} has no plain name before @", _RIGHT)
    return f"{local}@{_domain(domain, named)}"


def _domain(domain: str, named: str) -> str:
    try:
        ascii_domain = idna.encode(domain, uts46=True, transitional=False).decode().lower()
    except (idna.IDNAError, UnicodeError):
        raise BadDestinationError("destination", f"{named!r} has no domain", _RIGHT) from None
    labels = ascii_domain.split(".")
    numeric = labels[-1].isdigit()
    if len(labels) < 2 or numeric or len(ascii_domain) > _MAX_DOMAIN or labels[0] in MISSING:
        raise BadDestinationError("destination", f"{named!r} has no domain", _RIGHT)
    return ascii_domain


def is_address(text: str) -> bool:
    """Whether this is a mail address in its one spelling."""
    try:
        return normalise_address(text) == text
    except BadDestinationError:
        return False
