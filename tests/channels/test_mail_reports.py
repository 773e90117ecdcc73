"""Reports about mail, as servers write them."""

import time
from datetime import UTC, datetime

import pytest

from delivery.channels.contract import Posted, Receipt
from delivery.channels.email import EmailAdapter
from delivery.channels.mail_reports import MAILBOX
from delivery.errors import BadReceiptError

TOKEN = "k7q2mx9kvb3r5t8w00000123"
AT = datetime(2026, 12, 1, 9, tzinfo=UTC)
REPORT = """\
From: MAILER-DAEMON@mx.lab.test
To: agent@lab.test
Subject: Undelivered Mail Returned to Sender
Date: Tue, 01 Dec 2026 09:00:01 +0000
Message-ID: <d1@mx.lab.test>
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: text/plain

This is the mail system.

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.lab.test
{envelope}
Final-Recipient: rfc822; ops@acme.test
Action: {action}
Status: 5.1.1
Diagnostic-Code: smtp; 550 no such user

--b
Content-Type: text/rfc822-headers

Subject: Message
{returned}
--b--
"""


def read(
    action: str = "failed", envelope: str = f"Original-Envelope-Id: {TOKEN}\n", returned: str = ""
) -> list[Receipt]:
    text = REPORT.format(action=action, envelope=envelope, returned=returned)
    return list(adapter().classify_receipt(Posted(MAILBOX, {}, text.encode(), AT)))


def adapter() -> EmailAdapter:
    return EmailAdapter({"host": "localhost", "sender": "agent@lab.test"}, str)


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        ("failed", "bounced"),
        ("delivered", "delivered"),
        ("delayed", "accepted"),
        ("relayed (to mx2)", "accepted"),
        ("EXPANDED", "accepted"),
    ],
)
def test_what_a_server_did_is_told_in_our_words(action: str, kind: str) -> None:
    (one,) = read(action)

    assert (one.kind, one.recognizer, one.provider_message_id) == (kind, TOKEN, "")
    assert one.receipt_id == f"<d1@mx.lab.test> ops@acme.test {kind}"
    assert one.at == datetime(2026, 12, 1, 9, 0, 1, tzinfo=UTC)
    assert one.said.endswith("5.1.1 smtp; 550 no such user")


def test_where_the_envelopes_id_was_dropped_our_header_in_what_came_back_tells() -> None:
    (one,) = read(envelope="", returned=f"X-Counterfoil-Ref: {TOKEN}\n")

    assert one.recognizer == TOKEN


def test_the_envelopes_id_is_read_as_xtext() -> None:
    escaped = "+6B" + TOKEN[1:]

    assert read(envelope=f"Original-Envelope-Id: {escaped}\n")[0].recognizer == TOKEN


def test_an_action_that_is_none_says_nothing() -> None:
    assert read("lost in thought") == []


@pytest.mark.parametrize("envelope", ["", "Original-Envelope-Id: somebody else's\n"])
def test_a_report_about_somebody_elses_mail_is_not_ours(envelope: str) -> None:
    with pytest.raises(BadReceiptError, match="no mail of ours"):
        read(envelope=envelope)


def test_another_mail_is_no_report() -> None:
    with pytest.raises(BadReceiptError, match="no report"):
        adapter().classify_receipt(Posted(MAILBOX, {}, b"Subject: hello\n\nhello\n", AT))


@pytest.mark.parametrize(
    "body",
    [
        b"".join(
            b"Content-Type: multipart/x; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(900)
        ),
        REPORT.format(action="failed", envelope="\n", returned="\n" * 100_000).encode(),
    ],
    ids=["parts within parts", "nothing but line ends"],
)
def test_a_report_that_is_made_to_be_slow_is_not_read_to_its_end(body: bytes) -> None:
    began = time.thread_time()

    with pytest.raises(BadReceiptError):
        adapter().classify_receipt(Posted(MAILBOX, {}, body + b"x\n" * 20_000, AT))

    assert time.thread_time() - began < 3  # 8.7 s, and 3.7 s, when all of it was read


def test_nobody_may_post_a_report_about_mail() -> None:
    text = REPORT.format(
        action="delivered", envelope=f"Original-Envelope-Id: {TOKEN}\n", returned=""
    )

    with pytest.raises(BadReceiptError, match="fetched, not posted"):
        adapter().classify_receipt(Posted("https://x.test/receipts/m/", {}, text.encode(), AT))


def test_without_a_mailbox_there_is_nothing_to_fetch() -> None:
    with pytest.raises(BadReceiptError, match="no mailbox"):
        list(adapter().fetch_receipts(AT, 0.0))
