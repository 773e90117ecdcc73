"""Events of SES by SNS: Amazon's signature, Amazon's address, and our own topic."""

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import NameOID

from delivery.channels import sns
from delivery.channels.contract import Posted, Receipt
from delivery.channels.ses import SesAdapter
from delivery.errors import BadReceiptError, ForgedReceiptError

TOPIC = "arn:aws:sns:eu-central-1:123456789012:mail"
CERTIFICATE = "https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-0.pem"
REF = "k7q2mx9kvb3r5t8w00000123"
NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)
KEY = rsa.generate_private_key(public_exponent=65_537, key_size=2048)


def certificate(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey = KEY, days: int = 30) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name)
    made = made.public_key(key.public_key()).serial_number(1)
    made = made.not_valid_before(NOW - timedelta(days=60)).not_valid_after(
        NOW + timedelta(days=days)
    )
    return made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


@pytest.fixture(autouse=True)
def amazon(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    """What Amazon's addresses serve. The addresses are its own: no server of ours can have them."""
    served = {CERTIFICATE: certificate()}

    class Found:
        status_code = 200

        def __init__(self, content: bytes) -> None:
            self.content = content

    def ask(url: str, deadline: float, headers: dict[str, str]) -> Found | str:
        del deadline, headers
        return Found(served[url]) if url in served else "no answer"

    monkeypatch.setattr(sns, "ask", ask)
    sns.fetched.cache_clear()
    yield served
    sns.fetched.cache_clear()


def event(kind: str = "Bounce", **mail: Any) -> str:
    about = {"messageId": "0102-a", "tags": {"counterfoil-ref": [REF]}} | mail
    bounce = {"bounceType": "Permanent", "bounceSubType": "General"}
    return json.dumps({"eventType": kind, "mail": about, "bounce": bounce})


def posted(version: Any = "2", key: Any = KEY, **changes: Any) -> Posted:
    said = {
        "Type": "Notification",
        "MessageId": "m-1",
        "TopicArn": TOPIC,
        "Message": event(),
        "Timestamp": "2026-12-01T08:59:00.000Z",
        "SignatureVersion": version,
        "SigningCertURL": CERTIFICATE,
    } | changes
    order = ("Message", "MessageId", "Subject", "SubscribeURL", "Timestamp", "Token", "TopicArn",
             "Type")  # fmt: skip
    signed = "".join(f"{name}\n{said[name]}\n" for name in order if name in said)
    algorithm = hashes.SHA256() if version == "2" else hashes.SHA1()  # noqa: S303  its version 1
    signature = key.sign(signed.encode(), padding.PKCS1v15(), algorithm)
    said["Signature"] = base64.b64encode(signature).decode()
    return Posted("https://x.test/receipts/mail/", {}, json.dumps(said).encode(), NOW)


def read(one: Posted, topic: str = TOPIC) -> list[Receipt]:
    settings = {"base_url": "https://email.eu-central-1.amazonaws.com", "region": "eu-central-1",
                "sender": "agent@here.test", "receipt_topic": topic}  # fmt: skip
    return list(SesAdapter(settings, str).classify_receipt(one))


@pytest.mark.parametrize("version", ["1", "2"])
def test_an_event_that_amazon_signed_is_read(version: str) -> None:
    (one,) = read(posted(version))

    assert (one.kind, one.receipt_id, one.provider_message_id) == ("bounced", "m-1", "0102-a")
    assert (one.recognizer, one.said) == (REF, "Bounce Permanent General")


@pytest.mark.parametrize(
    ("kind", "ours"),
    [("Send", "accepted"), ("Delivery", "delivered"), ("Complaint", "complained"),
     ("Reject", "failed"), ("Rendering Failure", "failed"), ("DeliveryDelay", "accepted")],
)  # fmt: skip
def test_each_event_has_its_kind(kind: str, ours: str) -> None:
    assert [one.kind for one in read(posted(Message=event(kind)))] == [ours]


def test_an_event_about_reading_says_nothing() -> None:
    assert read(posted(Message=event("Open"))) == []


def test_without_tags_the_header_names_it() -> None:
    headers = [{"name": "X-Counterfoil-Ref", "value": REF}]

    (one,) = read(posted(Message=event(tags={}, headers=headers)))

    assert one.recognizer == REF


def _tampered() -> Posted:
    good = posted()
    return Posted(good.url, {}, good.body.replace(b"0102-a", b"0102-b"), NOW)


def _by_another_key() -> Posted:
    return posted(key=rsa.generate_private_key(public_exponent=65_537, key_size=2048))


FORGERIES = {
    "tampered with": _tampered,
    "signed by another key": _by_another_key,
    "of another topic": lambda: posted(TopicArn=TOPIC + "2"),
    "of yesterday": lambda: posted(Timestamp="2026-11-30T08:59:00.000Z"),
    "without a moment": lambda: posted(Timestamp="soon"),
    "of another version": lambda: posted(SignatureVersion="3"),
}
ADDRESSES = [
    "http://sns.eu-central-1.amazonaws.com/a.pem",
    "https://sns.eu-central-1.amazonaws.com.evil.test/a.pem",
    "https://evil.test/sns.eu-central-1.amazonaws.com/a.pem",
    "https://sns.eu-central-1.amazonaws.com@evil.test/a.pem",
    "https://sns.eu-central-1.amazonaws.com:8443/a.pem",
    "https://bucket.s3.amazonaws.com/a.pem",
    "https://sns.s3.amazonaws.com/a.pem",
    "https://sns.s3-eu-central-1.amazonaws.com/a.pem",
    "https://sns.eu-west-1.amazonaws.com/a.pem",
    "https://sns.eu-central-1.amazonaws.com/?Action=GetTopicAttributes",
    "https://sns.eu-central-1.amazonaws.com/a.pem?x=y",
    "file:///etc/passwd",
    "",
]


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES)
def test_a_forgery_is_refused(forgery: Any) -> None:
    with pytest.raises(ForgedReceiptError):
        read(forgery())


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_certificate_from_anywhere_else_is_refused(
    address: str, amazon: dict[str, bytes]
) -> None:
    amazon[address] = certificate()

    with pytest.raises(ForgedReceiptError, match="not Amazon's"):
        read(posted(SigningCertURL=address))


def test_a_certificate_that_has_ended_or_is_none_is_refused(amazon: dict[str, bytes]) -> None:
    others = [certificate(days=-1), certificate(ec.generate_private_key(ec.SECP256R1())), b"none"]
    for served in others:
        amazon[CERTIFICATE] = served
        sns.fetched.cache_clear()

        with pytest.raises(ForgedReceiptError):
            read(posted())


def test_a_certificate_that_cannot_be_had_now_is_asked_for_again(
    amazon: dict[str, bytes],
) -> None:
    amazon.clear()

    with pytest.raises(BadReceiptError, match="cannot be had now"):
        read(posted())


def test_without_a_topic_of_ours_nothing_is_believed() -> None:
    with pytest.raises(ForgedReceiptError, match="no receipt_topic"):
        read(posted(), topic="")


def test_a_subscription_to_our_topic_is_confirmed_at_amazons_address_only(
    amazon: dict[str, bytes],
) -> None:
    where = "https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription&Token=t"
    asks = {"Type": "SubscriptionConfirmation", "Token": "t", "Message": "You have chosen"}
    amazon[where] = b"<ok/>"

    assert read(posted(**asks, SubscribeURL=where)) == []
    with pytest.raises(ForgedReceiptError, match="not Amazon's"):
        read(posted(**asks, SubscribeURL="https://evil.test/"))
    del amazon[where]
    with pytest.raises(BadReceiptError, match="confirmed now"):
        read(posted(**asks, SubscribeURL=where))


@pytest.mark.parametrize("changes", [{"Type": "Other"}, {"Message": "hello"}, {"Message": "[1]"}])
def test_what_is_no_event_is_not_read(changes: dict[str, str]) -> None:
    with pytest.raises(BadReceiptError):
        read(posted(**changes))
