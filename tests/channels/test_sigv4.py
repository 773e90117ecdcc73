"""Signatures of AWS requests, against published examples of them."""

from datetime import UTC, datetime

import pytest

from delivery.channels.sigv4 import Keys, Scope, signature_headers

KEYS = Keys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
THEN = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
HOME = "https://example.amazonaws.com/"


@pytest.mark.parametrize(
    ("method", "url", "signature"),
    [
        ("GET", HOME, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        ("POST", HOME, "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        (
            "GET",
            f"{HOME}?Param2=value2&Param1=value1",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
    ],
    ids=["get-vanilla", "post-vanilla", "get-vanilla-query-order-key-case"],
)
def test_the_examples_of_the_published_suite(method: str, url: str, signature: str) -> None:
    added = signature_headers(
        method, url, b"", scope=Scope("us-east-1", "service"), keys=KEYS, now=THEN
    )

    assert added == {
        "X-Amz-Date": "20150830T123600Z",
        "Authorization": "AWS4-HMAC-SHA256"
        " Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request,"
        f" SignedHeaders=host;x-amz-date, Signature={signature}",
    }


def test_a_sessions_token_is_sent_and_signed() -> None:
    keys = Keys(KEYS.id, KEYS.secret, "a-token-of-the-session")

    added = signature_headers(
        "GET", HOME, b"", scope=Scope("us-east-1", "service"), keys=keys, now=THEN
    )

    assert added["X-Amz-Security-Token"] == "a-token-of-the-session"
    assert "SignedHeaders=host;x-amz-date;x-amz-security-token," in added["Authorization"]


@pytest.mark.parametrize("changed", [{"method": "PUT"}, {"url": f"{HOME}x"}, {"body": b"x"}])
def test_a_changed_request_has_another_signature(changed: dict[str, object]) -> None:
    request = {"method": "POST", "url": HOME, "body": b""}
    usual = {"scope": Scope("us-east-1", "service"), "keys": KEYS, "now": THEN}

    first = signature_headers(**request, **usual)  # type: ignore[arg-type]
    second = signature_headers(**{**request, **changed}, **usual)  # type: ignore[arg-type]

    assert first["Authorization"] != second["Authorization"]


def test_keys_are_read_from_one_secret_and_never_shown() -> None:
    keys = Keys.read("AKIDEXAMPLEAKIDEXAMP:wJalrXUtnFEMI/K7MDENG:FwoGZXIvYXdzEXAMPLE==")

    assert (keys.id, keys.secret) == ("AKIDEXAMPLEAKIDEXAMP", "wJalrXUtnFEMI/K7MDENG")
    assert keys.token == "FwoGZXIvYXdzEXAMPLE=="
    assert repr(keys) == "Keys(id='AKIDEXAMPLEAKIDEXAMP')"


@pytest.mark.parametrize(
    "secret", ["", "AKIDEXAMPLEAKIDEXAMP", ":x", "a b:c", "AKIDEXAMPLEAKIDEXAMP:\r\n:x", "a:b:c:d"]
)
def test_what_is_no_pair_of_keys_is_not_quoted(secret: str) -> None:
    with pytest.raises(ValueError, match="ACCESS_KEY_ID:SECRET_ACCESS_KEY") as raised:
        Keys.read(secret)

    assert not secret or secret not in str(raised.value)
