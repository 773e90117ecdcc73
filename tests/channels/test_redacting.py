"""A secret that a peer echoes is kept in no spelling of it."""

import base64
import html
import json
from urllib.parse import quote, quote_plus

import pytest

from delivery.channels.redacting import without_secrets

SECRET = "s3kr/t+va&ue=\"9'ü"
SPELLINGS = {
    "raw": SECRET,
    "quoted": quote(SECRET, safe=""),
    "quoted as a path": quote(SECRET),
    "quoted in lower case": quote(SECRET, safe="").replace("%2F", "%2f").replace("%C3", "%c3"),
    "a form": quote_plus(SECRET),
    "json": json.dumps(SECRET),
    "json as it is": json.dumps(SECRET, ensure_ascii=False),
    "json for a script": json.dumps(SECRET).replace("&", "\\u0026").replace("/", "\\/"),
    "html": html.escape(SECRET),
    "html by number": SECRET.replace("&", "&#38;").replace('"', "&#x22;"),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64 for URLs": base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("="),
    "base64 of user and secret": base64.b64encode(f"u:{SECRET}".encode()).decode(),
    "base64 of user and secret, shifted": base64.b64encode(f"us:{SECRET}x".encode()).decode(),
    "base64, quoted": quote(base64.b64encode(f"usr:{SECRET}".encode()), safe=""),
}


@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_a_secret_is_masked_however_it_is_spelled(spelled: str) -> None:
    kept = without_secrets(f"before, {spelled} and {spelled}, after", SECRET)

    assert kept.startswith("before, ")
    assert kept.endswith(", after")
    assert kept.count("[secret]") == 2
    assert len(kept) < len("before, [secret] and [secret], after") + 32  # base64's loose ends


@pytest.mark.parametrize(
    "secrets", ["first-one second-one", "second-one\tfirst-one", "first-one\n"]
)
def test_each_of_several_secrets_is_masked(secrets: str) -> None:
    kept = without_secrets("got first-one, second-one", secrets)

    assert all(one not in kept for one in secrets.split())


def test_a_secret_with_spaces_is_masked_as_a_whole() -> None:
    assert without_secrets("a b c d, a+b+c+d, a%20b%20c%20d", "a b c d") == ", ".join(
        ["[secret]"] * 3
    )


def test_a_signing_secret_is_masked_without_its_mark() -> None:
    assert without_secrets("key c2hhLCBkbyBub3Q", "whsec_c2hhLCBkbyBub3Q") == "key [secret]"


def test_a_secret_that_holds_another_leaves_nothing_of_it() -> None:
    assert without_secrets("abcdef-ghijkl", "abcdef abcdef-ghijkl") == "[secret]"


@pytest.mark.parametrize("secrets", ["", "  ", "short", "a b c"])
def test_what_is_too_short_to_be_recognized_masks_nothing(secrets: str) -> None:
    assert without_secrets("shorts are a b good", secrets) == "shorts are a b good"


@pytest.mark.parametrize("length", [6, 9, 15])
def test_a_secret_that_was_cut_off_at_the_end_is_masked(length: int) -> None:
    text = f"Bearer {'sekret-0123456789'[:length]}"

    assert without_secrets(text, "sekret-0123456789", cut=True) == "Bearer [secret]"
    assert without_secrets(text, "sekret-0123456789") == text
