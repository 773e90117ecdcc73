"""Twilio's callbacks: signed over the address as it was called."""

from collections.abc import Iterator
from typing import Any

import pytest

from delivery.models import Receipt
from ledgers.models import Channel
from tests.contract.vendor import SECRET
from tests.contract.vendors import Twilio
from tests.factories import deliveries, delivery, make_channel, record, sweep
from tests.receipts.posting import ADDRESS, post, twilio_report

PHONE = "+4930123456"


@pytest.fixture
def phone() -> Iterator[Twilio]:
    with Twilio() as made:
        yield made


@pytest.fixture
def sms(
    transactional_db: None, phone: Twilio, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> Channel:
    settings.COUNTERFOIL_CONSOLE_URL = "https://console.acme.test/"
    monkeypatch.setenv("LAB_TOKEN", SECRET)
    return make_channel(
        "alerts",
        adapter="twilio",
        settings={
            "base_url": phone.url,
            "allow_private": True,
            "account_sid": Twilio.account,
            "sender": Twilio.me,
            "status_callback": ADDRESS,
        },
        secret_ref="env:LAB_TOKEN",
        deadline_s=20,
    )


def test_a_status_callback_is_verified_over_the_public_address_behind_a_proxy(
    sms: Channel, phone: Twilio
) -> None:
    record([PHONE])
    sweep()
    row = delivery(PHONE)

    good = post(twilio_report(SECRET, row.provider_message_id, "undelivered"))
    inside = twilio_report(
        SECRET, row.provider_message_id, "sent", "http://testserver/receipts/alerts/"
    )

    assert (good, post(inside)) == (204, 404)
    assert Receipt.objects.get().kind == "bounced"
    assert delivery(PHONE).status == "delivered"


def test_the_callback_names_the_message_where_the_answer_was_lost(
    sms: Channel, phone: Twilio
) -> None:
    phone.lose_answers = True
    record([PHONE])
    sweep()
    row = deliveries()[0]
    asked = f"{ADDRESS}?ref={row.recognizer}"
    before = row.status

    status = post(
        twilio_report(SECRET, "SM77", "sent", asked), f"/receipts/alerts/?ref={row.recognizer}"
    )

    row.refresh_from_db()
    assert f"ref%3D{row.recognizer}" in phone.submissions[0].body.decode()
    assert (before, status, row.status) == ("unknown", 204, "delivered")
    assert row.provider_message_id == "SM77"
