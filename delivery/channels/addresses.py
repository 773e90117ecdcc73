"""Where a host name leads, and whether anything may be sent there.

A destination comes from an agent's work, so it may have been chosen by whoever talked to the
agent: a name that leads into the operator's own network is refused, and the address that was
checked is the one that is used (a second look-up could answer otherwise).
"""

import ipaddress
import os
import socket
import threading
from dataclasses import dataclass

from delivery.channels.deadlines import Watched

Address = tuple[socket.AddressFamily, str, int]
_IP = ipaddress.IPv4Address | ipaddress.IPv6Address

# Where clouds hand out credentials. Nobody receives messages there, so no setting opens them.
# 169.254.169.254: AWS, Azure, Google; fd00:ec2::254: AWS over IPv6; 100.100.100.200: Alibaba;
# 168.63.129.16: Azure's wire server and 192.0.0.192: Oracle, which count as public addresses.
# 169.254.170.2: a container's role on AWS (ECS); 169.254.170.23, fd00:ec2::23: a pod's (EKS);
# fd20:ce::254: Google over IPv6; 169.254.0.23: Tencent.
METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in (
        "169.254.169.254",
        "fd00:ec2::254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "169.254.170.2",
        "169.254.170.23",
        "fd00:ec2::23",
        "fd20:ce::254",
        "169.254.0.23",
    )
)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE = ipaddress.ip_network("::/96")  # RFC 4291, 2.5.5.1: IPv4-compatible, deprecated
_TRANSLATED = ipaddress.ip_network("::ffff:0:0:0/96")  # RFC 7915, and RFC 2765 before it
# The only IPv6 addresses that the internet routes (RFC 4291, 2.4). Python 3.11 calls others global,
# too, NAT64 and segment routing within a network among them.
_ROUTED = ipaddress.ip_network("2000::/3")
# Global by Python 3.11's table as well: examples (RFC 9637), the IETF's own (RFC 6890), and the way
# to relays that are no more (RFC 7526).
_NOT_PUBLIC = tuple(map(ipaddress.ip_network, ("3fff::/20", "192.0.0.0/24", "192.88.99.0/24")))
_MAX_LOOK_UPS = 64  # threads that may be stuck in the system's resolver at the same time


class ForbiddenAddressError(Exception):
    """The destination's address is one to which this channel must not send."""


def is_allowed(text: str, *, allow_private: bool) -> bool:
    """Whether a literal address may be sent to.

    Args:
        text: an IPv4 or IPv6 address, without a zone.
        allow_private: also loopback, private and link-local ones, for a recipient of one's own.
    """
    address = ipaddress.ip_address(text)
    inner = _embedded(address)
    if address in METADATA or inner in METADATA:
        return False
    if address.is_multicast or inner.is_multicast:
        return False
    return allow_private or (_is_public(inner) and (_is_public(address) or inner is not address))


def _is_public(address: _IP) -> bool:
    if address.version == 6 and address not in _ROUTED:
        return False
    return address.is_global and not any(address in network for network in _NOT_PUBLIC)


def _embedded(address: _IP) -> _IP:
    """The IPv4 address that an IPv6 one leads to (mapped, translated, 6to4, Teredo), or itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if any(address in network for network in (_NAT64, _COMPATIBLE, _TRANSLATED)):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo[1] if address.teredo else None
    return address.ipv4_mapped or address.sixtofour or teredo or address


def addresses_of(host: str, port: int, call: Watched, *, allow_private: bool) -> list[Address]:
    """The addresses of a host that may be used, in the resolver's order.

    Raises:
        OSError: if the name cannot be resolved.
        TimeoutError: if not before the call's deadline.
        ForbiddenAddressError: if it leads only where this channel must not send.
    """
    found = _literal(host, port) or _resolved(host, port, call)
    allowed = [one for one in found if is_allowed(one[1], allow_private=allow_private)]
    if not allowed:
        where = ", ".join(one[1] for one in found)
        raise ForbiddenAddressError(
            f"{host} is {where}: a private, local or reserved address. If the recipient is really "
            "there, set allow_private: true in the channel's settings (metadata addresses stay "
            "closed)"
        )
    return allowed


def _literal(host: str, port: int) -> list[Address]:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return []
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    return [(family, str(address), port)]


@dataclass(slots=True)
class _LookUp:
    """One question to the system's resolver, shared by all who ask the same at the same time."""

    done: threading.Event
    found: list[Address]
    error: OSError | None = None


_look_ups: dict[tuple[str, int], _LookUp] = {}
_lock = threading.Lock()


def _resolved(host: str, port: int, call: Watched) -> list[Address]:
    """Ask in a thread of its own: `getaddrinfo` takes no timeout and cannot be interrupted."""
    with _lock:
        asked = _look_ups.get((host, port))
        if asked is None:
            if len(_look_ups) >= _MAX_LOOK_UPS:
                raise OSError(f"{_MAX_LOOK_UPS} name look-ups are already unanswered")
            asked = _look_ups[host, port] = _LookUp(threading.Event(), [])
            arguments = (host, port, asked)
            threading.Thread(target=_ask, args=arguments, name="resolve", daemon=True).start()
    if not asked.done.wait(call.left()):
        raise TimeoutError(f"the name {host} was not resolved in time")
    if asked.error is not None:
        raise asked.error
    return asked.found


def _ask(host: str, port: int, asked: _LookUp) -> None:
    try:
        for family, _kind, _protocol, _name, where in socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        ):
            if family in (socket.AF_INET, socket.AF_INET6):
                asked.found.append((family, str(where[0]), port))
    except OSError as error:
        asked.error = error
    except UnicodeError as error:  # a label that is empty or too long
        asked.error = OSError(f"{host} is no host name: {error}")
    finally:
        with _lock:
            _look_ups.pop((host, port), None)
        asked.done.set()


def _forget_look_ups() -> None:
    """After a fork: the threads that would have answered belong to the parent."""
    global _lock  # noqa: PLW0603  it may have been held by one of them
    _lock = threading.Lock()
    _look_ups.clear()


os.register_at_fork(after_in_child=_forget_look_ups)
