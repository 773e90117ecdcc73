"""A mailbox, a webhook's recipient, and time that passes for the alarms' rows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from tests.watch.people import Hook, Mailbox

ADDRESS = "oncall@acme.test"
CONSOLE = "https://console.acme.test/"


@pytest.fixture(autouse=True)
def nowhere(settings: Any, tmp_path: Path) -> None:
    """No alarm leaves before a test says where to; the notebook is the test's own."""
    cache.clear()
    settings.COUNTERFOIL_ALARM_MAIL = []
    settings.COUNTERFOIL_ALARM_WEBHOOK = ""
    settings.COUNTERFOIL_ALARM_WEBHOOK_SECRET = ""
    settings.COUNTERFOIL_DEADMAN_URL = ""
    settings.COUNTERFOIL_CONSOLE_URL = CONSOLE
    settings.COUNTERFOIL_DATA = tmp_path
    settings.DEFAULT_FROM_EMAIL = "counterfoil@acme.test"


@pytest.fixture
def mailbox(settings: Any) -> Iterator[Mailbox]:
    with Mailbox() as mailbox:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", mailbox.port
        settings.EMAIL_TIMEOUT = 5
        settings.COUNTERFOIL_ALARM_MAIL = [ADDRESS]
        yield mailbox


@pytest.fixture
def hook(settings: Any) -> Iterator[Hook]:
    with Hook() as hook:
        settings.COUNTERFOIL_ALARM_WEBHOOK = hook.url
        yield hook
