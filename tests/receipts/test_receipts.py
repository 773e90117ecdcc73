"""Reports: verified, kept, matched in any order, and never a reason to send again."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from delivery.models import Receipt, ReceiptTally
from delivery.receiving import MAX_BODY, guard
from delivery.settle import settle
from ledgers.models import Attempt, Channel, Delivery, Event, Evidence
from tests.contract.vendor import SECRET, Answer, Ask
from tests.contract.vendors import Resend, Twilio
from tests.crash.clock import pass_s
from tests.delivery.waves import take_call
from tests.factories import deliveries, delivery, make_channel, make_due, record, sweep
from tests.receipts.posting import ADDRESS, SIGNING, post, resend_report, twilio_report

TO, PHONE = "ops@acme.test", "+4930123456"
HOUR = 3600


class SlowResend(Resend):
    """It accepts, and answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.accepted, self.go = threading.Event(), threading.Event()
        self.slow = False

    def answer(self, ask: Ask) -> Answer | None:
        said = super().answer(ask)
        if self.slow:
            self.accepted.set()
            assert self.go.wait(20)
        return said


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


def sent(mailer: SlowResend) -> Delivery:
    """One that was accepted."""
    record([TO])
    sweep()
    row = delivery(TO)
    assert row.status == "delivered"
    return row


def lost(mailer: SlowResend) -> Delivery:
    """One whose answer was lost."""
    mailer.lose_answers = True
    record([TO])
    sweep()
    row = delivery(TO)
    assert row.status == "unknown"
    return row


def tallies() -> dict[str, int]:
    return dict(ReceiptTally.objects.values_list("reason", "count"))


# --- What they prove ---------------------------------------------------------------------------
def test_a_report_of_acceptance_resolves_an_unknown(mail: Channel, mailer: SlowResend) -> None:
    row = lost(mailer)

    assert post(resend_report("sent", "re_9", ref=row.recognizer)) == 204

    row.refresh_from_db()
    found = Evidence.objects.get()
    assert (row.status, row.provider_message_id) == ("delivered", "re_9")
    assert (found.method, found.verdict, found.seen_by) == ("receipt", "found", "receipts:alerts")
    assert mailer.effects == len(mailer.submissions) == 1


def test_c103_a_bounce_after_acceptance_is_a_fact_and_no_resend(
    mail: Channel, mailer: SlowResend, admin_client: Client
) -> None:
    row = sent(mailer)

    assert post(resend_report("bounced", row.provider_message_id)) == 204
    pass_s(48 * HOUR)
    sweep()

    row.refresh_from_db()
    page = admin_client.get(reverse("admin:delivery", args=[row.delivery_id])).content.decode()
    assert (row.status, row.disputed_at, row.attempt_count) == ("delivered", None, 1)
    assert mailer.effects == len(mailer.submissions) == 1
    assert "bounced: email.bounced" in page
    assert Event.objects.get(kind="receipt").detail["kind"] == "bounced"


def test_c136_a_failure_after_hand_over_of_an_unknown_sends_nothing_again(
    mail: Channel, mailer: SlowResend
) -> None:
    row = lost(mailer)

    post(resend_report("failed", "re_9", ref=row.recognizer))
    make_due()
    sweep()

    row.refresh_from_db()
    assert (row.status, mailer.effects, len(mailer.submissions)) == ("delivered", 1, 1)


def test_an_acceptance_of_what_counted_as_not_sent_is_disputed(
    mail: Channel, mailer: SlowResend
) -> None:
    mailer.instead = Answer(422, {"name": "validation_error"})
    record([TO])
    sweep()
    row = delivery(TO)
    assert row.status == "failed"

    post(resend_report("delivered", "re_9", ref=row.recognizer))

    row.refresh_from_db()
    assert row.status == "delivered"
    assert row.disputed_at is not None


def test_one_identity_under_two_names_was_accepted_twice(mail: Channel, mailer: SlowResend) -> None:
    row = sent(mailer)

    post(resend_report("sent", "re_another", ref=row.recognizer))

    assert Evidence.objects.get().verdict == "found_many"
    assert row.provider_message_id in Evidence.objects.get().why


# --- Once, and in any order --------------------------------------------------------------------
def test_the_same_report_posted_again_counts_once(mail: Channel, mailer: SlowResend) -> None:
    row = sent(mailer)
    report = resend_report("delivered", row.provider_message_id)

    assert [post(report) for _ in range(3)] == [204, 204, 204]

    assert Evidence.objects.count() == Receipt.objects.count() == 1
    assert tallies() == {"repeated": 2}


@pytest.mark.parametrize("order", [("bounced", "sent"), ("sent", "bounced")])
def test_the_order_of_reports_does_not_matter(
    mail: Channel, mailer: SlowResend, order: tuple[str, str]
) -> None:
    row = lost(mailer)

    for number, kind in enumerate(order):
        post(resend_report(kind, "re_9", named=f"msg_{number}", ref=row.recognizer))

    row.refresh_from_db()
    assert (row.status, row.disputed_at) == ("delivered", None)
    kinds = Receipt.objects.filter(delivery=row).values_list("kind", flat=True)
    assert sorted(kinds) == ["accepted", "bounced"]


def test_c134_a_report_that_is_quicker_than_the_answer_is_not_lost(
    mail: Channel, mailer: SlowResend
) -> None:
    mailer.slow = True
    record([TO])
    call = take_call()
    thread = threading.Thread(target=call.run)
    thread.start()
    assert mailer.accepted.wait(20)
    first = post(resend_report("delivered", mailer.entries[0].id))
    before = (delivery(TO).status, Receipt.objects.get().delivery_id)
    mailer.go.set()
    thread.join(20)

    settle([call], "worker-1")

    row = delivery(TO)
    assert (first, before) == (204, ("submitting", None))
    assert row.status == "delivered"
    assert Receipt.objects.get().delivery_id == row.pk
    assert Evidence.objects.get().method == "receipt"


def test_c134_with_our_own_mark_it_counts_while_the_attempt_is_open(
    mail: Channel, mailer: SlowResend
) -> None:
    record([TO])
    call = take_call()
    row = delivery(TO)
    assert row.status == "submitting"
    post(resend_report("delivered", "re_9", ref=row.recognizer))
    during = delivery(TO).status
    call.run()

    settle([call], "worker-1")

    assert (during, delivery(TO).status) == ("delivered", "delivered")
    assert Attempt.objects.get().outcome == "accepted"
    assert mailer.effects == 1


def test_c134_reports_that_race_with_settles_are_never_lost(
    mail: Channel, mailer: SlowResend
) -> None:
    rooms = [f"ops{n}@acme.test" for n in range(6)]
    for number, to in enumerate(rooms):
        record([to], run_id=f"run-{number}")
        call = take_call()
        call.run()
        report = resend_report("delivered", mailer.entries[-1].id, named=f"msg_{number}")
        both = threading.Barrier(2)

        def report_it(barrier: threading.Barrier = both, said: Any = report) -> None:
            barrier.wait(10)
            assert post(said) == 204
            connection.close()

        thread = threading.Thread(target=report_it)
        thread.start()
        both.wait(10)
        settle([call], "worker-1")
        thread.join(20)

    assert Receipt.objects.filter(delivery=None).count() == 0
    assert Evidence.objects.filter(method="receipt").count() == len(rooms)
    assert set(Delivery.objects.values_list("status", flat=True)) == {"delivered"}


# --- What is not believed ----------------------------------------------------------------------
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


# --- Twilio ------------------------------------------------------------------------------------
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
