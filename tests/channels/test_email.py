"""The mail adapter without a server: addresses, content, settings, and the bytes of a mail."""

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

import pytest

from delivery.channels.contract import Envelope
from delivery.channels.email import EmailAdapter
from delivery.channels.mail_addresses import is_address, normalise_address
from delivery.errors import BadContentError, BadDestinationError

TOKEN = "k7q2mx9kvb3r5t8w2p4n"
SETTINGS = {"host": "mx.test", "sender": "agent@here.test"}


def adapter(**settings: Any) -> EmailAdapter:
    return EmailAdapter({**SETTINGS, **settings}, lambda: "")


def rendered(content: Any, marker: str = "", **settings: Any) -> EmailMessage:
    envelope = Envelope(content, "ops@there.test", 1, 1, TOKEN, marker)
    raw = adapter(**settings).render(envelope).body
    assert raw == adapter(**settings).render(envelope).body
    assert raw.isascii()
    assert all(len(line) < 998 for line in raw.split(b"\r\n"))
    assert b"\n" not in raw.replace(b"\r\n", b"")
    return message_from_bytes(raw, policy=default)


def text_in(part: Any) -> str:
    return str(part.get_content()).replace("\r\n", "\n")


# These answers never change: a destination's identity is derived from them.
@pytest.mark.parametrize(
    ("given", "one_spelling"),
    [
        ("ops@example.com", "ops@example.com"),
        ("  Ops@Example.COM ", "ops@example.com"),
        ("a.b+c@mail.example.com", "a.b+c@mail.example.com"),
        ("post@bücher.example", "post@xn--bcher-kva.example"),
        ("post@BÜCHER.example", "post@xn--bcher-kva.example"),
        ("o'neil@example.com", "o'neil@example.com"),
    ],
)
def test_an_address_has_one_spelling(given: str, one_spelling: str) -> None:
    assert normalise_address(given) == one_spelling
    assert normalise_address(one_spelling) == one_spelling
    assert is_address(one_spelling)


@pytest.mark.parametrize(
    "given",
    [
        "", "ops", "@example.com", "ops@", "ops@localhost", "ops@127.0.0.1", "ops@[127.0.0.1]",
        "Ops <ops@example.com>", "a@b@example.com", '"a b"@example.com', "a..b@example.com",
        ".a@example.com", "none@example.com", "a b@example.com", "ops@example..com",
        "ops@example.com\r\nBcc: all@example.com", "ops@example.com,all@example.com",
        "x" * 65 + "@example.com", "ops@" + "x" * 64 + ".com", "null", "{address}", "ops@none.com",
        "ops@-x.com",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(BadDestinationError) as refused:
        normalise_address(given)

    assert "destination" in str(refused.value)
    assert not is_address(given)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ({"text": "x", "attachments": ["a.pdf"]}, "attachments"),
        ({"text": "x", "cc": "b@c.test"}, "cc"),
        ({"text": "x", "subject": "a\r\nBcc: all@there.test"}, "subject"),
        ({"text": "x", "subject": ""}, "subject"),
        ({"text": "x", "subject": 7}, "subject"),
        ({"text": "x", "html": ["<p>"]}, "html"),
        ({"html": "<p>x"}, "text"),
        (" \n", "empty"),
    ],
)
def test_content_that_no_mail_can_carry_is_refused(content: Any, named: str) -> None:
    with pytest.raises(BadContentError, match=named):
        adapter().check_content(content)


def test_a_text_becomes_a_mail_with_its_recognizer_in_both_places() -> None:
    mail = rendered("All quiet.")

    assert mail["From"] == "agent@here.test"
    assert mail["To"] == "ops@there.test"
    assert mail["Subject"] == "Message"
    assert mail["Message-ID"] == f"<{TOKEN}@here.test>"
    assert mail["X-Counterfoil-Ref"] == TOKEN
    assert mail["Date"] is None
    assert text_in(mail) == f"All quiet.\n\nref {TOKEN}\n"


@pytest.mark.parametrize(
    "text",
    [
        "Grüße ✅ 語",
        "x" * 3000,
        "=?utf-8?q?sly?=",
        "a" * 58 + "ü" + "b" * 200,
        "Re: [x] <y> (z), w",
    ],
)
def test_subject_and_name_arrive_as_they_were_given(text: str) -> None:
    subject = text[:480]

    mail = rendered({"text": text, "subject": subject}, sender_name=text[:9])

    assert mail["Subject"] == subject
    assert mail["From"].addresses[0].display_name == text[:9]
    assert mail["From"].addresses[0].addr_spec == "agent@here.test"
    assert text_in(mail) == f"{text}\n\nref {TOKEN}\n"


@pytest.mark.parametrize(
    ("html", "kept"),
    [
        ("<p>x</p>", f"<p>x</p>\n<p>ref {TOKEN}</p>\n"),
        (
            "<html><body>a</body><!-- é --></html>",
            f"<html><body>a<p>ref {TOKEN}</p></body><!-- é --></html>\n",
        ),
    ],
)
def test_html_stands_beside_the_text_and_carries_the_line_too(html: str, kept: str) -> None:
    mail = rendered({"text": "x", "html": html})

    plain, rich = mail.iter_parts()
    assert text_in(plain) == f"x\n\nref {TOKEN}\n"
    assert text_in(rich) == kept


def test_a_hidden_recognizer_is_not_in_the_text_but_a_mark_always_is() -> None:
    assert text_in(rendered("x", recognizer_place="hidden")) == "x\n"
    marked = text_in(rendered("x", marker="re-sent", recognizer_place="hidden"))
    assert marked == f"x\n\nref {TOKEN} (re-sent)\n"
    assert rendered("x", recognizer_place="visible")["X-Counterfoil-Ref"] is None


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"sender": "Agent <agent@here.test>"}, "sender"),
        ({"host": "mx.test\r\nQUIT"}, "host"),
        ({"security": "none", "user": "agent"}, "security"),
        ({"archive_host": "imap.test"}, "archive_user"),
        (
            {"archive_host": "imap.test", "archive_user": "a", "archive_security": "none"},
            "archive_security",
        ),
        ({"archive_secret_ref": "hunter2"}, "archive_secret_ref"),
        ({"port": 0}, "port"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused_by_name(
    settings: dict[str, Any], named: str
) -> None:
    (complaint,) = EmailAdapter.check_settings({**SETTINGS, **settings})

    assert complaint.startswith(f"{named}: ")


def test_the_declaration_promises_no_key_and_only_what_the_archive_shows() -> None:
    blind = adapter().declare()
    searchable = adapter(archive_host="imap.test", archive_user="archive").declare()

    assert (blind.tier, searchable.tier) == ("E", "D")
    assert blind.key is None
    assert searchable.surface is not None
    assert not searchable.surface.complete
    assert blind.deadline_s > 600  # RFC 5321, 4.5.3.2.6
