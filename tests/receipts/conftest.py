"""A channel whose provider reports by itself."""

from collections.abc import Iterator
from typing import Any

import pytest

from ledgers.models import Channel
from tests.contract.vendor import SECRET
from tests.factories import make_channel
from tests.receipts.mailing import SlowResend
from tests.receipts.posting import SIGNING


@pytest.fixture
def mailer() -> Iterator[SlowResend]:
    with SlowResend() as made:
        yield made


@pytest.fixture
def mail(
    transactional_db: None, mailer: SlowResend, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> Channel:
    settings.COUNTERFOIL_CONSOLE_URL = "https://console.acme.test/"
    monkeypatch.setenv("LAB_TOKEN", SECRET)
    monkeypatch.setenv("LAB_SIGNING", SIGNING)
    return make_channel(
        "alerts",
        adapter="resend",
        settings={
            "base_url": mailer.url,
            "allow_private": True,
            "sender": "agent@acme.test",
            "receipt_secret_ref": "env:LAB_SIGNING",
        },
        secret_ref="env:LAB_TOKEN",
        retry_schedule=[36_000],
        deadline_s=20,
        max_attempts=2,
    )
