"""What Amazon SNS posts: verified by the certificate that it names, which only Amazon may serve.

Anybody with an account of their own can have SNS sign what they like. So the topic is compared as
well, with the one that the operator wrote down. Its region is the only one whose address is called:
`sns.s3.amazonaws.com`, for one, is somebody's bucket of that name.

Source: docs.aws.amazon.com/sns, "Verifying the signatures of Amazon SNS messages".
"""

import base64
import binascii
import re
from collections.abc import Mapping
from datetime import timedelta
from functools import lru_cache
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from delivery.channels.contract import Posted
from delivery.channels.looking import ask
from delivery.channels.receipts import json_report, reported_at
from delivery.errors import BadReceiptError, ForgedReceiptError
from delivery.timing import boottime

# It tries again for long with the moment of the first time; a report counts once in any case.
TOLERANCE = timedelta(hours=1)
_FETCH_S = 5.0
_TOPIC = re.compile(
    r"arn:(aws|aws-us-gov|aws-cn):sns:([a-z]{2,3}(?:-[a-z]{3,12}){1,2}-[0-9]{1,2}):[0-9]{12}:[A-Za-z0-9_-]{1,256}"
)
_PEM = re.compile(r"/[A-Za-z0-9_-]{1,100}\.pem")
_SIGNED = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    "SubscriptionConfirmation": (
        "Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type",
    ),
}  # fmt: skip
_HASHES: Mapping[str, hashes.HashAlgorithm] = {"1": hashes.SHA1(), "2": hashes.SHA256()}  # noqa: S303  its version 1


def verified(posted: Posted, topic: str) -> dict[str, Any]:
    """The message, once it is proven to be Amazon's and of this topic.

    Raises:
        ForgedReceiptError: without the right signature, of another topic, or too old.
        BadReceiptError: if it is none of SNS's messages.
    """
    said = json_report(posted)
    if not topic:
        raise ForgedReceiptError("the channel has no receipt_topic: nothing can be verified")
    if said.get("TopicArn") != topic:
        raise ForgedReceiptError("it is of another topic")
    names = _SIGNED.get(str(said.get("Type")))
    if names is None:
        raise BadReceiptError("it is no message of SNS that is known")
    at = reported_at(said.get("Timestamp"))
    if at is None or abs(posted.at - at) > TOLERANCE:
        raise ForgedReceiptError("its Timestamp is missing, or not of this hour")
    signed = "".join(f"{name}\n{said[name]}\n" for name in names if said.get(name) is not None)
    _verify(said, signed.encode(), posted)
    return said


def _verify(said: Mapping[str, Any], signed: bytes, posted: Posted) -> None:
    algorithm = _HASHES.get(str(said.get("SignatureVersion")))
    try:
        signature = base64.b64decode(str(said.get("Signature")), validate=True)
        address = _of_amazon(said, "SigningCertURL")
        certificate = x509.load_pem_x509_certificate(fetched(address))
    except (binascii.Error, ValueError):
        raise ForgedReceiptError("its signature or certificate cannot be read") from None
    key = certificate.public_key()
    since, until = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if algorithm is None or not isinstance(key, rsa.RSAPublicKey) or not since < posted.at < until:
        raise ForgedReceiptError("its certificate is not valid now, or of another kind")
    try:
        key.verify(signature, signed, padding.PKCS1v15(), algorithm)
    except InvalidSignature:
        raise ForgedReceiptError("its signature is not Amazon's") from None


@lru_cache(maxsize=16)
def fetched(url: str) -> bytes:
    """The certificate at an address of Amazon's, over TLS that proves whose it is.

    Raises:
        BadReceiptError: if it cannot be had now; SNS posts again.
    """
    answer = ask(url, boottime() + _FETCH_S, {})
    if isinstance(answer, str) or answer.status_code != HTTPStatus.OK:
        raise BadReceiptError("its certificate cannot be had now")
    return bytes(answer.content)


def confirm(said: Mapping[str, Any]) -> None:
    """Answer the question whether this address wants the topic: its operator wrote it down.

    Raises:
        ForgedReceiptError: if it would have to be told to somebody else.
        BadReceiptError: if that cannot be told now; SNS asks again.
    """
    url = _of_amazon(said, "SubscribeURL")
    answer = ask(url, boottime() + _FETCH_S, {})
    if isinstance(answer, str) or answer.status_code != HTTPStatus.OK:
        raise BadReceiptError("the subscription cannot be confirmed now")


def is_topic(text: str) -> bool:
    """Whether this is the ARN of a topic."""
    return _TOPIC.fullmatch(text) is not None


def _of_amazon(said: Mapping[str, Any], field: str) -> str:
    """The address in this field, if it is Amazon's own, in the region of the topic."""
    url, topic = str(said.get(field)), _TOPIC.fullmatch(str(said.get("TopicArn")))
    parts = urlsplit(url)
    suffix = ".cn" if topic and topic[1] == "aws-cn" else ""
    host = f"sns.{topic[2]}.amazonaws.com{suffix}" if topic else ""
    right = parts.scheme == "https" and host and parts.netloc == host
    if not right or (field == "SigningCertURL" and not _PEM.fullmatch(parts.path + parts.query)):
        raise ForgedReceiptError(f"its {field} is not Amazon's in the topic's region")
    return url
