"""Where alarms go: each address and the webhook are a way of their own, and fail on their own."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder

from delivery.channels import alarms
from delivery.channels.secrets import fingerprint
from delivery.models import AlarmWay
from delivery.watch.bounded import bounded
from delivery.watch.message import Message
from ledgers.management.words import plain

SEND_LIMIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Way:
    """One way.

    `name`: what its row is called; another address is another way. `shown`: for people, without
    anything secret. `send`: "" once it was accepted, otherwise why not.
    """

    name: str
    shown: str
    send: Callable[[Message], str]


def configured() -> list[Way]:
    """The ways that the settings name."""
    ways = [_mail(address) for address in settings.COUNTERFOIL_ALARM_MAIL]
    url = settings.COUNTERFOIL_ALARM_WEBHOOK
    return [*ways, *([_webhook(url)] if url else [])]


def _mail(address: str) -> Way:
    name = f"mail:{address}"[:300]

    def send(message: Message) -> str:
        return _in_time(
            name, lambda: alarms.mail(address, message.subject, message.text, message.id)
        )

    return Way(name, f"mail to {plain(address)}", send)


def _webhook(url: str) -> Way:
    # The path may hold a secret: it is told apart by its fingerprint, and never shown.
    name = f"webhook:{fingerprint(url)}"

    def send(message: Message) -> str:
        body = json.dumps(message.value, cls=DjangoJSONEncoder).encode()
        secret = settings.COUNTERFOIL_ALARM_WEBHOOK_SECRET
        return _in_time(name, lambda: alarms.post(url, secret, message.id or "test", body))

    return Way(name, f"webhook at {_host(url)}", send)


def _host(url: str) -> str:
    try:
        return plain(urlsplit(url).hostname or "an address that is none")
    except ValueError:
        return "an address that is none"


def _in_time(name: str, send: Callable[[], str]) -> str:
    """A mail server that drips a byte now and then keeps each time-out and ends nothing."""
    try:
        return bounded(SEND_LIMIT_S, send, name)
    except TimeoutError:
        return f"not accepted within {SEND_LIMIT_S:g} s"


@dataclass(frozen=True, slots=True)
class Seen:
    """A way and what became of it lately, for people."""

    shown: str
    accepted_at: datetime | None
    failed_at: datetime | None
    failure: str

    @property
    def failing(self) -> bool:
        """Its last use failed."""
        return self.failed_at is not None and (
            self.accepted_at is None or self.failed_at > self.accepted_at
        )


def seen() -> list[Seen]:
    """The configured ways with their last success and failure."""
    ways = configured()
    rows = AlarmWay.objects.in_bulk([way.name for way in ways])
    return [_seen(way.shown, rows.get(way.name)) for way in ways]


def seen_as(name: str, shown: str) -> Seen:
    """What became of the last uses of this name."""
    return _seen(shown, AlarmWay.objects.filter(name=name).first())


def _seen(shown: str, row: AlarmWay | None) -> Seen:
    if row is None:
        return Seen(shown, None, None, "")
    return Seen(shown, row.accepted_at, row.failed_at, row.failure)
