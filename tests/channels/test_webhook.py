"""Webhooks: the reference library's verdict on our signatures, the body, the URL's one spelling."""

import base64
import json
from datetime import UTC, datetime
from email.message import Message
from email.parser import BytesParser
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from delivery.channels.contract import Adapter, Envelope, Finding, Query
from delivery.channels.webhook import WebhookAdapter, sign
from delivery.errors import SecretError
from delivery.outcomes import Accepted, NotSent, Outcome
from delivery.timing import boottime
from tests.channels.notebook import Notebook
from tests.channels.peers import CERTIFICATES, OK, Peer, answering, status

KEY = "0f8fad5b-d9cb-469f-a165-70867728950e"
RECOGNIZER = "dlvq2mx9kabcdefghijkl"
SECRET = "whsec_" + base64.b64encode(b"a secret of some 24 bytes").decode()
OTHER = "whsec_" + base64.b64encode(b"another one, the new one").decode()
RIGHT = {"allow_http": True, "allow_private": True}


def webhook(secret: str = "", **settings: Any) -> WebhookAdapter:
    return WebhookAdapter({**RIGHT, **settings}, lambda: secret)


def send(adapter: Adapter, url: str, content: Any = None, **envelope: Any) -> Outcome:
    given = {"part": 1, "parts": 1, "recognizer": RECOGNIZER, **envelope}
    rendered = adapter.render(Envelope(content or {"text": "hi"}, url, **given))
    return adapter.submit(rendered, KEY, Notebook())


def arrived(peer: Peer) -> tuple[Message, bytes]:
    """The header fields and the body of the only request."""
    (request,) = peer.requests
    head, _, body = request.partition(b"\r\n\r\n")
    return BytesParser().parsebytes(head.partition(b"\r\n")[2]), body


@pytest.mark.parametrize("verifier", [SECRET, OTHER])
def test_the_reference_library_verifies_our_signature(verifier: str) -> None:
    with Peer(answering(OK)) as peer:
        send(webhook(f"{SECRET} {OTHER}"), peer.url)

    headers, body = arrived(peer)
    assert Webhook(verifier).verify(body, dict(headers)) == json.loads(body)
    assert headers["webhook-id"] == KEY


def test_the_reference_library_refuses_another_secret() -> None:
    with Peer(answering(OK)) as peer:
        send(webhook(SECRET), peer.url)

    headers, body = arrived(peer)
    with pytest.raises(WebhookVerificationError):
        Webhook(OTHER).verify(body, dict(headers))


def test_our_signature_is_the_reference_librarys_to_the_byte() -> None:
    moment = datetime(2026, 11, 29, 12, tzinfo=UTC)
    expected = Webhook(SECRET).sign(KEY, moment, '{"a":"ü"}')

    assert sign(SECRET, KEY, int(moment.timestamp()), '{"a":"ü"}'.encode()) == expected


def test_a_raw_secret_signs_as_its_own_bytes() -> None:
    same = base64.b64encode(b"raw one").decode()

    assert sign("raw one".replace(" ", "_"), "k", 1, b"") != sign(f"whsec_{same}", "k", 1, b"")
    assert sign("rawone", "k", 1, b"") == sign(
        "whsec_" + base64.b64encode(b"rawone").decode(), "k", 1, b""
    )


def test_without_a_secret_nothing_is_signed() -> None:
    with Peer(answering(OK)) as peer:
        send(webhook(), peer.url)

    headers, _ = arrived(peer)
    assert "webhook-signature" not in headers
    assert "authorization" not in headers


def test_a_bearer_secret_goes_into_the_authorization_header() -> None:
    with Peer(answering(OK)) as peer:
        send(webhook("tok", secret_as="bearer"), peer.url)

    headers, _ = arrived(peer)
    assert headers["authorization"] == "Bearer tok"
    assert "webhook-signature" not in headers


@pytest.mark.parametrize(("encoding", "sent"), [("raw", KEY), ("quoted", f'"{KEY}"')])
def test_the_key_is_encoded_as_the_channel_says(encoding: str, sent: str) -> None:
    with Peer(answering(OK)) as peer:
        send(webhook(key_encoding=encoding), peer.url)

    headers, _ = arrived(peer)
    assert headers["idempotency-key"] == sent
    assert headers["webhook-id"] == KEY


@pytest.mark.parametrize("secret", ["whsec_not base64!", "whsec_ÄÄ"])
def test_a_secret_that_cannot_sign_holds_the_channel(secret: str) -> None:
    adapter = webhook(secret)

    with Peer(answering(OK)) as peer:
        outcome = send(adapter, peer.url)

    assert "base64" in adapter.ready()
    assert isinstance(outcome, NotSent)
    assert not outcome.tried
    assert secret not in repr(outcome)
    assert peer.connections == 0


def test_a_bearer_secret_that_no_header_can_carry_holds_the_channel() -> None:
    adapter = webhook("tök\nen", secret_as="bearer")

    outcome = send(adapter, "http://127.0.0.1:9/")

    assert "no header can carry" in adapter.ready()
    assert outcome == NotSent(adapter.ready(), tried=False)


def test_a_secret_that_cannot_be_read_costs_no_attempt() -> None:
    def missing() -> str:
        raise SecretError("the environment variable HOOK is not set, or empty")

    adapter = WebhookAdapter(RIGHT, missing)

    assert adapter.ready() == "the environment variable HOOK is not set, or empty"
    assert send(adapter, "http://127.0.0.1:9/") == NotSent(adapter.ready(), tried=False)


# --- The body ------------------------------------------------------------------------------------


def test_a_wrapped_body_has_type_data_and_ref_and_no_time() -> None:
    rendered = webhook().render(Envelope({"b": 1, "a": "ü"}, "https://x.test/", 1, 1, RECOGNIZER))

    assert rendered.body.decode() == (
        f'{{"data":{{"a":"ü","b":1}},"ref":"{RECOGNIZER}","type":"counterfoil.message"}}'
    )


def test_parts_and_an_approved_resend_are_told_in_the_body() -> None:
    envelope = Envelope("x", "https://x.test/", 2, 3, RECOGNIZER, marker="sent again")

    body = json.loads(webhook().render(envelope).body)

    assert body == {
        "type": "counterfoil.message",
        "data": "x",
        "ref": RECOGNIZER,
        "part": 2,
        "parts": 3,
        "resend": "sent again",
    }


def test_a_bare_body_is_the_content_alone() -> None:
    adapter = webhook(body="content")

    rendered = adapter.render(Envelope({"text": "hi"}, "https://x.test/", 1, 1, RECOGNIZER))

    assert rendered.body == b'{"text":"hi"}'
    assert adapter.declare().recognizer_places == ("header counterfoil-ref",)


@pytest.mark.parametrize("body", ["wrapped", "content"])
def test_the_recognizer_goes_into_a_header_too(body: str) -> None:
    with Peer(answering(OK)) as peer:
        send(webhook(body=body), peer.url)

    headers, _ = arrived(peer)
    assert headers["counterfoil-ref"] == RECOGNIZER


# --- Look-ups ------------------------------------------------------------------------------------


def look_up(adapter: Adapter, seconds: float = 5.0) -> list[Finding]:
    query = Query("d", KEY, RECOGNIZER, "https://x.test/", "", datetime.now(UTC))
    return list(adapter.look_up(query, boottime() + seconds))


@pytest.mark.parametrize(
    ("answer", "authoritative", "verdict"),
    [
        (status(200, body='{"found": true, "id": "m7"}'), False, "found"),
        (status(200, body='{"found": false}'), False, "inconclusive"),
        (status(200, body='{"found": false}'), True, "absent"),
        (status(404), False, "inconclusive"),
        (status(404), True, "absent"),
        (status(200), True, "inconclusive"),
        (status(200, body='{"found": "true"}'), True, "inconclusive"),
        (status(200, body="<html>"), True, "inconclusive"),
        (status(204), True, "inconclusive"),
        (status(301, "Location: /"), True, "inconclusive"),
        (status(401), True, "inconclusive"),
        (status(410), True, "inconclusive"),
        (status(429), True, "inconclusive"),
        (status(500), True, "inconclusive"),
        (status(404)[:-1], True, "inconclusive"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Le", True, "inconclusive"),
        (b"", True, "inconclusive"),
    ],
)
def test_a_look_up_proves_only_what_is_declared(
    answer: bytes, authoritative: bool, verdict: str
) -> None:
    def script(talk: Any) -> None:
        talk.read_request()
        talk.send(answer)

    with Peer(script) as peer:
        adapter = webhook(
            look_up_url=f"{peer.url}/seen?key={{key}}", look_up_authoritative=authoritative
        )
        (finding,) = look_up(adapter)

    assert finding.verdict == verdict
    assert finding.method == "key_lookup"
    assert finding.searched == f"GET {peer.url}/seen?key={KEY}"
    assert finding.provider_message_id == ("m7" if verdict == "found" else "")
    assert peer.requests[0].startswith(f"GET /seen?key={KEY} HTTP/1.1\r\n".encode())


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (status(200, body='{"id": "m7"}'), 'answered 200 without "found": true or false'),
        (status(401), "answered 401, which proves nothing"),
    ],
)
def test_a_look_up_that_proves_nothing_says_what_it_lacks(answer: bytes, why: str) -> None:
    def script(talk: Any) -> None:
        talk.read_request()
        talk.send(answer)

    with Peer(script) as peer:
        (finding,) = look_up(webhook(look_up_url=f"{peer.url}/{{key}}"))

    assert finding.why.startswith(why)


def test_a_look_up_that_hangs_is_inconclusive_within_its_deadline() -> None:
    with Peer(lambda talk: talk.hang()) as peer:
        (finding,) = look_up(webhook(look_up_url=f"{peer.url}/{{recognizer}}"), seconds=0.2)

    assert finding.verdict == "inconclusive"
    assert RECOGNIZER in finding.searched


def test_without_a_look_up_url_nothing_is_asked_or_declared() -> None:
    assert look_up(webhook()) == []
    assert not webhook().declare().can_look_up


def test_a_look_up_carries_the_bearer_secret() -> None:
    with Peer(answering(status(404))) as peer:
        look_up(webhook("tok", secret_as="bearer", look_up_url=f"{peer.url}/{{key}}"))

    assert b"\r\nAuthorization: Bearer tok\r\n" in peer.requests[0]


def test_a_look_up_without_its_secret_is_inconclusive() -> None:
    def missing() -> str:
        raise SecretError("gone")

    settings = {**RIGHT, "secret_as": "bearer", "look_up_url": "http://127.0.0.1:9/{key}"}

    (finding,) = look_up(WebhookAdapter(settings, missing))

    assert finding.verdict == "inconclusive"
    assert "gone" in finding.why


# --- Declaration and settings ------------------------------------------------------------------


def test_an_undeclared_window_is_none_at_all() -> None:
    assert webhook().declare().window.seconds == 0.0
    assert webhook().declare().key_scope == "none"


def test_a_declared_window_is_the_operators_word() -> None:
    window = webhook(dedupe_window_s=3600, dedupe_window_source="their docs").declare().window

    assert (window.seconds, window.source, window.confidence) == (3600.0, "their docs", "operator")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("allow_private", "yes"),
        ("dedupe_window_s", -1),
        ("dedupe_window_s", True),
        ("refusals", [500]),
        ("refusals", 400),
        ("conflict", "duplicate"),
        ("look_up_url", "https://x.test/none-of-both"),
        ("look_up_url", "ftp://x.test/{key}"),
        ("ca_file", "/nonexistent/ca.pem"),
        ("id_header", "X Y"),
        ("typo", 1),
    ],
)
def test_a_wrong_setting_is_named_with_what_would_be_right(setting: str, value: Any) -> None:
    (complaint,) = WebhookAdapter.check_settings({setting: value})

    assert complaint.startswith(f"{setting}: ")
    assert "must be" in complaint or "known are" in complaint


def test_right_settings_are_not_complained_about() -> None:
    settings = {
        **RIGHT,
        "ca_file": str(CERTIFICATES / "ca.pem"),
        "look_up_url": "https://x.test/{recognizer}",
        "refusals": [400, 422],
        "dedupe_window_s": 300,
        "id_header": "X-Message-Id",
    }

    assert WebhookAdapter.check_settings(settings) == []


def test_an_accepted_answer_without_json_is_still_accepted() -> None:
    with Peer(answering(status(200, body="ok"))) as peer:
        outcome = send(webhook(), peer.url)

    assert isinstance(outcome, Accepted)
    assert outcome.provider_message_id == ""
