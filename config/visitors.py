"""From which address somebody signs in, where a proxy stands in front."""

from ipaddress import ip_address

from django.http import HttpRequest


def address(request: HttpRequest) -> str:
    """The address that our own proxy saw: it adds its own at the end, after whatever was sent.

    Without it everybody would come from the proxy's address, and anybody could lock out the person
    on call with ten wrong passwords.
    """
    last = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
    try:
        return str(ip_address(last))
    except ValueError:
        return str(request.META.get("REMOTE_ADDR", ""))
