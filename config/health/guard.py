"""Who may read counts and names of channels: whoever has the token, or calls from near enough."""

import secrets
from collections.abc import Callable, Iterator
from functools import wraps
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.http import HttpRequest, HttpResponse

from config import visitors

SHORTEST_TOKEN = 16
TEXT = "text/plain; charset=utf-8"
REFUSED = (
    "not allowed: send the token of COUNTERFOIL_PROBE_TOKEN (Authorization: Bearer ...), or call"
    " from an address of COUNTERFOIL_PROBE_ADDRESSES\n"
)


def guarded(
    answer: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """The same answer, for those who may have it."""

    @wraps(answer)
    def guard(request: HttpRequest) -> HttpResponse:
        if has_token(request) or is_near(request):
            return answer(request)
        refused = HttpResponse(REFUSED, content_type=TEXT, status=401)
        refused.headers["WWW-Authenticate"] = 'Bearer realm="counterfoil"'
        return refused

    return guard


def has_token(request: HttpRequest) -> bool:
    """Whether it brings the token; compared in a time that tells nothing."""
    scheme, _, said = request.headers.get("Authorization", "").partition(" ")
    token = settings.COUNTERFOIL_PROBE_TOKEN
    return (
        bool(token)
        and scheme.lower() == "bearer"
        and secrets.compare_digest(said.strip().encode(), token.encode())
    )


def is_near(request: HttpRequest) -> bool:
    """Whether it comes from an allowed address: behind a proxy, from the one that the proxy saw."""
    said = request.META.get("REMOTE_ADDR", "")
    if settings.COUNTERFOIL_BEHIND_PROXY:
        said = visitors.address(request)
    try:
        caller = ip_address(said)
    except ValueError:
        return False
    return any(caller in network for network in _networks())


def _networks() -> Iterator[IPv4Network | IPv6Network]:
    for one in settings.COUNTERFOIL_PROBE_ADDRESSES:
        try:
            yield ip_network(one, strict=False)
        except ValueError:  # the system check names it; a word that is none lets nobody in
            continue


@register()
def probes_are_let_in(**_: Any) -> list[CheckMessage]:
    """Addresses that are none, and a token that could be guessed."""
    return [*_wrong_addresses(), *_short_token()]


def _wrong_addresses() -> Iterator[CheckMessage]:
    for one in settings.COUNTERFOIL_PROBE_ADDRESSES:
        try:
            ip_network(one, strict=False)
        except ValueError:
            yield Error(
                f"COUNTERFOIL_PROBE_ADDRESSES: {one[:60]!r} is no address and no network.",
                hint="Write 10.0.0.7 or 10.0.0.0/24; several with commas.",
                id="config.E030",
            )


def _short_token() -> Iterator[CheckMessage]:
    if 0 < len(settings.COUNTERFOIL_PROBE_TOKEN) < SHORTEST_TOKEN:
        yield Error(
            f"COUNTERFOIL_PROBE_TOKEN has fewer than {SHORTEST_TOKEN} characters.",
            hint="Make a long one: python -c 'import secrets; print(secrets.token_urlsafe(32))'",
            id="config.E031",
        )
