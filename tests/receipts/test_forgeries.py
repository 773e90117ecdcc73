"""What is posted and not believed changes nothing, and is counted."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from delivery.models import Receipt, ReceiptTally
from delivery.receiving import MAX_BODY, guard
from ledgers.models import Channel, Evidence
from tests.contract.vendor import SECRET
from tests.factories import make_channel
from tests.receipts.mailing import SlowResend, lost, sent
from tests.receipts.posting import SIGNING, post, resend_report


def tallies() -> dict[str, int]:
    return dict(ReceiptTally.objects.values_list("reason", "count"))


def forged() -> dict[str, Any]:
    report = resend_report("delivered", "1000")
    return report | {"data": report["data"].replace("1000", "1001")}


def of_last_week() -> dict[str, Any]:
    return resend_report("delivered", "1000", age_s=7 * 86_400)


def unsigned() -> dict[str, Any]:
    return {"data": "{}", "content_type": "application/json"}


@pytest.mark.parametrize("report", [forged, of_last_week, unsigned])
def test_what_is_not_proven_to_come_from_the_provider_changes_nothing_and_is_counted(
    mail: Channel, mailer: SlowResend, caplog: pytest.LogCaptureFixture, report: Any
) -> None:
    row = lost(mailer)

    assert post(report()) == 404

    row.refresh_from_db()
    assert (row.status, Evidence.objects.count(), Receipt.objects.count()) == ("unknown", 0, 0)
    assert tallies() == {"forged": 1}
    assert "was not taken (forged)" in caplog.text
    assert SIGNING.removeprefix("whsec_") not in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    ("found", "says"),
    [("", "LAB_SIGNING is not set"), ("whsec_abcde", "cut or mistyped")],
    ids=["missing", "mistyped"],
)
def test_a_signing_secret_that_cannot_be_used_is_told_and_nothing_is_believed(
    mail: Channel, mailer: SlowResend, monkeypatch: pytest.MonkeyPatch, found: str, says: str
) -> None:
    row = lost(mailer)
    report = resend_report("sent", "re_9", ref=row.recognizer)
    monkeypatch.setenv("LAB_SIGNING", found)

    assert post(report) == 404

    row.refresh_from_db()
    tally = ReceiptTally.objects.get()
    assert (row.status, tally.reason) == ("unknown", "unverified")
    assert says in tally.why
    assert "abcde" not in tally.why


@pytest.mark.parametrize(
    "said", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", 10**12, "soon", None]
)
def test_a_moment_that_nobody_can_hold_is_none(
    mail: Channel, mailer: SlowResend, said: object
) -> None:
    row = lost(mailer)

    assert post(resend_report("sent", "re_9", ref=row.recognizer, at=said)) == 204

    row.refresh_from_db()
    assert row.status == "delivered"
    assert Receipt.objects.get().happened_at is None


def test_nobody_learns_which_channels_there_are(mail: Channel, mailer: SlowResend) -> None:
    make_channel("hooks")
    client = Client()

    answers = [
        client.post(f"/receipts/{slug}/", **unsigned()) for slug in ("alerts", "hooks", "nobody")
    ]

    assert {(one.status_code, one.content) for one in answers} == {(404, b"not found\n")}
    assert client.get("/receipts/alerts/").status_code == 405


def test_what_is_too_long_or_too_much_is_turned_away(
    mail: Channel, mailer: SlowResend, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = post({"data": "x" * (MAX_BODY + 1), "content_type": "text/plain"})
    monkeypatch.setattr(guard, "tokens", 0.0)
    monkeypatch.setattr("delivery.receiving.PER_SECOND", 0.0)

    assert (long, post(unsigned())) == (413, 429)


def test_what_a_stranger_writes_breaks_nothing(mail: Channel, mailer: SlowResend) -> None:
    for body in (b"\xff\x00", b"[" * 10_000, b""):
        assert post({"data": body, "content_type": "application/json"}) == 404

    assert Receipt.objects.count() == 0


def test_a_report_of_another_channel_finds_nothing_here(mail: Channel, mailer: SlowResend) -> None:
    row = lost(mailer)
    make_channel("others", adapter="resend", settings=mail.settings, secret_ref="env:LAB_TOKEN")

    assert post(resend_report("sent", "re_9", ref=row.recognizer), "/receipts/others/") == 204

    row.refresh_from_db()
    assert row.status == "unknown"
    assert Receipt.objects.get().delivery is None


def test_a_channel_shows_what_was_reported(
    mail: Channel, mailer: SlowResend, admin_client: Client
) -> None:
    row = sent(mailer)
    post(resend_report("bounced", row.provider_message_id))
    post(resend_report("sent", "re_unknown", named="msg_2"))
    post(forged())

    page = admin_client.get(reverse("admin:channel", args=["alerts"])).content.decode()

    assert "What its provider reported" in page
    assert "1: no delivery has this name yet" in page
    assert "They changed nothing." in page


def test_an_address_without_its_last_slash_takes_reports_as_well(
    mail: Channel, mailer: SlowResend
) -> None:
    row = lost(mailer)

    assert post(resend_report("sent", "re_9", ref=row.recognizer), "/receipts/alerts") == 204

    row.refresh_from_db()
    assert row.status == "delivered"
