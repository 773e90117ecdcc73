"""The address that providers post their reports to: `/receipts/<channel>/`.

Nobody signs in here, so it says nothing: whatever is not believed, and whatever channel does not
exist, is answered alike. What is posted is verified by the adapter of the channel.
"""

import logging
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from delivery.channels.contract import Posted
from delivery.errors import BadReceiptError
from delivery.receipts import take
from delivery.timing import boottime
from ledgers.models import Channel

logger = logging.getLogger(__name__)

MAX_BODY = 262_144  # bytes
PER_SECOND, AT_ONCE = 50.0, 500.0  # of this process; providers try again later


@dataclass(slots=True)
class Guard:
    """So many posts, and no more, whoever they are from."""

    tokens: float = AT_ONCE
    at: float = field(default_factory=boottime)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def admit(self) -> bool:
        with self._lock:
            now = boottime()
            self.tokens = min(AT_ONCE, self.tokens + (now - self.at) * PER_SECOND)
            self.at = now
            if self.tokens < 1:
                return False
            self.tokens -= 1
            return True


guard = Guard()


@csrf_exempt
@require_POST
def receive(request: HttpRequest, slug: str) -> HttpResponse:
    """Take one report. 204 where it was believed, known or not; 404 for everything else."""
    if not guard.admit():
        return HttpResponse("too many\n", status=429, headers={"Retry-After": "10"})
    if _length(request) > MAX_BODY:
        return HttpResponse("too long\n", status=413)
    if not _taken(slug, request):
        return HttpResponse("not found\n", status=404)
    return HttpResponse(status=204)


def _taken(slug: str, request: HttpRequest) -> bool:
    channel = Channel.objects.select_related("credential").filter(slug=slug).first()
    if channel is None:
        return False
    try:
        take(channel, _posted(request))
    except BadReceiptError:
        return False
    return True


def _length(request: HttpRequest) -> int:
    said = request.headers.get("Content-Length", "")
    return int(said) if said.isdigit() and len(said) < 20 else 0


def _posted(request: HttpRequest) -> Posted:
    return Posted(
        url=public_url(request),
        headers={name.lower(): value for name, value in request.headers.items()},
        body=request.body,
        at=datetime.now(UTC),
    )


def public_url(request: HttpRequest) -> str:
    """The address as the provider called it, which some of them sign; a proxy shows another."""
    base = settings.COUNTERFOIL_CONSOLE_URL.rstrip("/")
    return base + request.get_full_path() if base else request.build_absolute_uri()
