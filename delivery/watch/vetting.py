"""System checks of the settings for alarms: what is wrong is named, with what would be right."""

from collections.abc import Iterator
from email.utils import parseaddr
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register  # noqa: A004
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from delivery.channels.urls import is_http_url

ALARMS = "alarms"


@register(ALARMS)
def alarms_reach_a_person(**_: Any) -> list[CheckMessage]:
    """Where alarms go, and whether there is anywhere at all."""
    return [*_wrong_addresses(), *_wrong_urls(), *_missing_ways()]


def _wrong_addresses() -> Iterator[CheckMessage]:
    named = [("COUNTERFOIL_ALARM_MAIL", one) for one in settings.COUNTERFOIL_ALARM_MAIL]
    sender = parseaddr(settings.DEFAULT_FROM_EMAIL)[1]
    for field, address in [*named, ("DEFAULT_FROM_EMAIL", sender)]:
        try:
            validate_email(address)
        except ValidationError:
            if field == "DEFAULT_FROM_EMAIL" and address.endswith("@localhost"):
                continue
            yield Error(
                f"{field}: {address[:100]!r} is no mail address.",
                hint="Write ops@example.com; several of COUNTERFOIL_ALARM_MAIL with commas.",
                id="delivery.E021",
            )


def _wrong_urls() -> Iterator[CheckMessage]:
    """The values are not shown: the path of a webhook may be its secret."""
    for field in (
        "COUNTERFOIL_ALARM_WEBHOOK",
        "COUNTERFOIL_CONSOLE_URL",
        "COUNTERFOIL_DEADMAN_URL",
    ):
        if (url := getattr(settings, field)) and not _is_url(url):
            yield Error(
                f"{field} is no URL that can be called.",
                hint="Write https://host/path, in plain ASCII, without a user or a fragment.",
                id="delivery.E022",
            )


def _is_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return (
            is_http_url(url)
            and url.isprintable()
            and parts.port != 0
            and not (parts.fragment or "@" in parts.netloc)
        )
    except ValueError:
        return False


def _missing_ways() -> Iterator[CheckMessage]:
    if settings.COUNTERFOIL_MODE != "production":
        return
    if not settings.COUNTERFOIL_ALARM_MAIL and not settings.COUNTERFOIL_ALARM_WEBHOOK:
        yield Warning(
            "No alarm reaches a person: when no worker lives or a delivery is unknown, only the"
            " console shows it.",
            hint="Set COUNTERFOIL_ALARM_MAIL (with EMAIL_URL and DEFAULT_FROM_EMAIL) or"
            " COUNTERFOIL_ALARM_WEBHOOK, run manage.py watch --push --every 15, and try it with"
            " manage.py watch --test-alarm.",
            id="delivery.W020",
        )
    if not settings.COUNTERFOIL_CONSOLE_URL:
        yield Warning(
            "The links in alarms lead nowhere: COUNTERFOIL_CONSOLE_URL is not set.",
            hint="Set it to where browsers reach the console, such as https://console.example.com",
            id="delivery.W023",
        )
