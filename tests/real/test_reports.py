"""Postfix's own reports about mail that it had accepted, read from the mailbox they came to."""

from typing import Any

import pytest

from delivery.models import Receipt
from ledgers.models import Channel, Delivery
from tests.commands.shell import typed
from tests.factories import delivery, make_channel, make_due, record, sweep
from tests.real.mail_servers import AGENT, ARCHIVE, CERTIFICATES, GONE, PASSWORD, MailServers
from tests.real.replies import losing_replies

OPS = "ops@lab.test"


@pytest.fixture
def mail(transactional_db: None, mail_lab: MailServers, monkeypatch: pytest.MonkeyPatch) -> Channel:
    """A channel that asks for all reports, and a mailbox that they come to."""
    monkeypatch.setenv("TEST_MAILBOX", PASSWORD)
    settings: dict[str, Any] = {
        "host": "localhost",
        "port": mail_lab.smtp,
        "security": "none",
        "sender": AGENT,
        "receipts": "all",
        "allow_private": True,
        "ca_file": str(CERTIFICATES / "ca.pem"),
    }
    for prefix, user in (("reports", AGENT), ("archive", ARCHIVE)):
        settings |= {
            f"{prefix}_host": "localhost",
            f"{prefix}_port": mail_lab.imap,
            f"{prefix}_security": "none",
            f"{prefix}_user": user,
            f"{prefix}_secret_ref": "env:TEST_MAILBOX",
        }
    return make_channel("alerts", adapter="email", settings=settings, deadline_s=30, lease_s=90)


def send(to: str, servers: MailServers) -> Delivery:
    record([to])
    sweep()
    servers.settle()
    row = delivery(to)
    assert (row.status, row.attempt_count) == ("delivered", 1)
    return row


def test_a_bounce_is_read_once_shown_as_a_fact_and_sends_nothing_again(
    mail: Channel, mail_lab: MailServers
) -> None:
    row = send(GONE, mail_lab)

    first = typed("read_receipts", "--channel", "alerts", "--json")
    again = typed("read_receipts", "--channel", "alerts", "--json")
    make_due()
    sweep()

    receipt = Receipt.objects.get(delivery=row, kind="bounced")
    row.refresh_from_db()
    assert (first.code, again.json["new"]) == (0, 0)
    assert first.json["matched"] == Receipt.objects.filter(delivery=row).count()
    assert (receipt.kind, receipt.recognizer) == ("bounced", row.recognizer)
    assert "5.7.1" in receipt.said
    assert (row.status, row.attempt_count) == ("delivered", 1)
    assert set(row.evidence.values_list("method", "verdict")) == {("receipt", "found")}


def test_a_report_resolves_a_send_whose_reply_was_lost(
    mail: Channel, mail_lab: MailServers
) -> None:
    record([OPS])
    with losing_replies(mail_lab.smtp, "close") as port:
        Channel.objects.update(settings={**mail.settings, "port": port}, look_up_schedule=[3600])
        sweep()
    mail_lab.settle()
    before = delivery(OPS).status

    said = typed("read_receipts", "--channel", "alerts")

    row = delivery(OPS)
    assert (before, said.code) == ("unknown", 0)
    assert (row.status, row.attempt_count) == ("delivered", 1)
    # Dovecot takes it over by a protocol that knows no reports: Postfix calls that relayed.
    assert Receipt.objects.get(delivery=row).kind == "accepted"


def test_a_mailbox_that_cannot_be_read_is_a_finding(
    mail: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_MAILBOX", "another-password")

    said = typed("read_receipts", "--channel", "alerts")

    assert said.code == 1
    assert "another-password" not in said.out + said.err
