"""Mail, met in person: Postfix takes it, Dovecot keeps it, the archive tells what became of it."""

import imaplib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from delivery.channels.contract import Envelope, Finding, Query
from delivery.channels.email import EmailAdapter
from delivery.errors import HeldBackError
from delivery.outcomes import Accepted, Ambiguous, NotSent, Outcome, Refused, Unauthorised
from delivery.timing import boottime
from tests.channels.notebook import Notebook
from tests.real.ledger import channel_to, later, send
from tests.real.mail_servers import AGENT, ARCHIVE, CERTIFICATES, PASSWORD, MailServers
from tests.real.replies import Loss, losing_replies

OPS = "ops@lab.test"
TOKENS = iter(f"k7q2mx9kvb3r5t8w{number:05d}"[:24] for number in range(1, 99_999))
EMOJI = "Bericht fertig ✅: ça va? “quoted”"


class Lab:
    """One adapter against the lab's servers, and one mail."""

    def __init__(self, servers: MailServers, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TEST_ARCHIVE", PASSWORD)
        self.servers = servers
        self.token = next(TOKENS)
        self.began = datetime.now(UTC)
        self.settings: dict[str, Any] = {
            "host": "localhost",
            "port": servers.smtp,
            "security": "none",
            "sender": AGENT,
            "allow_private": True,
            "ca_file": str(CERTIFICATES / "ca.pem"),
            "archive_host": "localhost",
            "archive_port": servers.imap,
            "archive_security": "none",
            "archive_user": ARCHIVE,
            "archive_secret_ref": "env:TEST_ARCHIVE",
        }

    def adapter(self, secret: str = "", **settings: Any) -> EmailAdapter:
        return EmailAdapter({**self.settings, **settings}, lambda: secret)

    def send(
        self,
        content: Any = "All quiet.",
        to: str = OPS,
        *,
        secret: str = "",
        journal: Notebook | None = None,
        **settings: Any,
    ) -> Outcome:
        adapter = self.adapter(secret, **settings)
        rendered = adapter.render(Envelope(content, to, 1, 1, self.token))
        return adapter.submit(rendered, "", journal or Notebook(seconds=20))

    def look(self, to: str = OPS, **settings: Any) -> Finding:
        query = Query("id", "", self.token, to, "", self.began - timedelta(minutes=5))
        (finding,) = self.adapter(**settings).look_up(query, boottime() + 20)
        return finding

    def count(self, to: str = OPS) -> int:
        """How many mails with this token an account has."""
        self.servers.settle()
        box = imaplib.IMAP4("127.0.0.1", self.servers.imap)
        box.login(to, PASSWORD)
        box.select(readonly=True)
        found = box.search(None, f'BODY "{self.token}"')[1][0].split()
        box.logout()
        return len(found)


@pytest.fixture
def lab(mail_lab: MailServers, monkeypatch: pytest.MonkeyPatch) -> Lab:
    return Lab(mail_lab, monkeypatch)


def test_an_accepted_mail_arrives_once_and_is_found_in_the_archive(lab: Lab) -> None:
    outcome = lab.send()

    assert isinstance(outcome, Accepted)
    assert outcome.provider_message_id
    assert lab.count() == 1
    assert lab.look().verdict == "found"


@pytest.mark.parametrize(
    "content",
    [
        {"text": EMOJI, "subject": EMOJI},
        {"text": "a\n.\n..\nb\r\n.", "html": "<html><body><p>x & y</p></body></html>"},
        {"text": "x" * 5000 + "\n" + "é" * 3000, "html": "<b>" + "y" * 4000},
        "From here on\n>From there\n\n\n\ttrailing   \n",
    ],
    ids=["no ASCII", "dots", "long lines", "lines that servers touch"],
)
def test_whatever_a_mail_says_its_recognizer_is_found(lab: Lab, content: Any) -> None:
    assert isinstance(lab.send(content), Accepted)
    assert lab.count() == 1
    assert lab.look().verdict == "found"


@pytest.mark.parametrize("place", ["hidden", "visible"])
def test_the_recognizer_stands_where_the_channel_says(lab: Lab, place: str) -> None:
    assert isinstance(lab.send(recognizer_place=place), Accepted)

    assert lab.count() == (place == "visible")
    assert lab.look().verdict == ("found" if place == "hidden" else "inconclusive")


@pytest.mark.parametrize("to", ["ops+night@lab.test", "ops+2b=c@lab.test", "o'p/s#!{|}~@lab.test"])
def test_whatever_an_address_may_look_like_it_is_taken(lab: Lab, to: str) -> None:
    assert isinstance(lab.send(to=to), Accepted)

    lab.servers.settle()
    assert lab.look(to).verdict == "found"


@pytest.mark.parametrize("loss", ["reset", "close", "hang"])
def test_a_lost_reply_is_ambiguous_and_the_archive_tells(lab: Lab, loss: Loss) -> None:
    with losing_replies(lab.servers.smtp, loss) as port:
        outcome = lab.send(port=port, journal=Notebook(seconds=2))

    assert isinstance(outcome, Ambiguous)
    assert "after the final dot" in outcome.why
    assert lab.count() == 1
    assert lab.look().verdict == "found"


def test_held_back_at_the_last_check_nothing_is_handed_in(lab: Lab) -> None:
    def refuse() -> None:
        raise HeldBackError("the lease would not outlive the call")

    journal = Notebook(seconds=20, at_last_check=refuse)

    outcome = lab.send(journal=journal)

    assert outcome == NotSent("the lease would not outlive the call", tried=False)
    assert journal.entries == ["connecting", "connected", "last check"]
    assert lab.count() == 0
    assert lab.look().verdict == "inconclusive"


@pytest.mark.parametrize(
    ("to", "permanent"), [("nobody@lab.test", True), ("later@lab.test", False)]
)
def test_a_refused_recipient_is_no_acceptance(lab: Lab, to: str, permanent: bool) -> None:
    outcome = lab.send(to=to)

    assert isinstance(outcome, Refused)
    assert outcome.permanent is permanent
    assert outcome.response.startswith("5" if permanent else "4")
    assert lab.look(to).verdict == "inconclusive"


def test_a_mail_that_is_too_long_is_refused_for_good(lab: Lab) -> None:
    outcome = lab.send("long " * 500_000)

    assert isinstance(outcome, Refused)
    assert outcome.permanent
    assert lab.count() == 0


def test_it_signs_in_over_starttls(lab: Lab) -> None:
    outcome = lab.send(security="starttls", user="agent", secret=PASSWORD)

    assert isinstance(outcome, Accepted)
    assert lab.count() == 1


def test_a_wrong_password_hands_nothing_in_and_is_not_quoted(lab: Lab) -> None:
    outcome = lab.send(security="starttls", user="agent", secret="wrong-password-wrong")

    assert isinstance(outcome, Unauthorised)
    assert "535" in outcome.why
    assert "wrong-password" not in repr(outcome)
    assert lab.count() == 0


def test_a_server_that_proves_to_be_another_gets_nothing(lab: Lab) -> None:
    outcome = lab.send(security="starttls", ca_file=str(CERTIFICATES / "stranger.pem"))

    assert isinstance(outcome, NotSent)
    assert "certificate" in outcome.why.lower()
    assert lab.count() == 0


def test_two_copies_are_a_finding_of_their_own(lab: Lab) -> None:
    lab.send()
    lab.send()

    assert lab.count() == 2
    assert lab.look().verdict == "found_many"


@pytest.mark.parametrize("complete", [True, False])
def test_what_is_not_there_is_absent_only_if_declared(lab: Lab, complete: bool) -> None:
    other = Lab(lab.servers, pytest.MonkeyPatch())
    other.settings = lab.settings
    other.send()  # the control: a mail of ours can be seen
    lab.servers.settle()

    finding = lab.look(archive_complete=complete)

    assert finding.verdict == ("absent" if complete else "inconclusive")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"archive_folder": "Nowhere"}, "NO"),
        ({"archive_port": 1}, "refused"),
        ({"archive_secret_ref": "env:TEST_NOT_SET"}, "TEST_NOT_SET"),
    ],
)
def test_an_archive_that_cannot_be_read_proves_nothing(
    lab: Lab, change: dict[str, Any], why: str
) -> None:
    lab.send()

    finding = lab.look(archive_complete=True, **change)

    assert finding.verdict == "inconclusive"
    assert why in finding.why


def _by_another(lab: Lab) -> None:
    lab.send(sender="agent@other.test")


def _to_another(lab: Lab) -> None:
    lab.send(to="sales@lab.test")


@pytest.mark.parametrize("send", [_by_another, _to_another], ids=["author", "recipient"])
def test_our_token_under_another_name_is_no_match(lab: Lab, send: Callable[[Lab], None]) -> None:
    send(lab)
    lab.servers.settle()
    # Postfix copies only what comes from the agent, so the stranger's mail is looked for in ops'.
    box = ARCHIVE if send is _to_another else OPS

    finding = lab.look(archive_complete=True, archive_user=box)

    assert finding.verdict == "inconclusive"
    assert "carries the recognizer but is by" in finding.why


def test_introspection_signs_in_and_names_the_account(lab: Lab) -> None:
    right = lab.adapter(PASSWORD, security="starttls", user="agent").introspect(boottime() + 20)
    wrong = lab.adapter("no", security="starttls", user="agent").introspect(boottime() + 20)

    assert (right.identity, right.why) == ("agent", "")
    assert "535" in wrong.why
    assert (wrong.identity, wrong.refused) == ("", True)


@pytest.mark.django_db(transaction=True)
def test_the_ledger_settles_a_lost_reply_by_the_archive_without_a_second_mail(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    with losing_replies(lab.servers.smtp, "close", times=1) as port:
        channel_to(monkeypatch, "email", "", **{**lab.settings, "port": port})
        row = send("ops+ledger@lab.test")
        lab.token = row.recognizer
        before = row.status, lab.count(ARCHIVE)

        settled = later(row)

    assert before == ("unknown", 1)
    assert settled == ("delivered", ["ambiguous"])
    assert row.evidence.get().verdict == "found"
    assert lab.count(ARCHIVE) == 1
