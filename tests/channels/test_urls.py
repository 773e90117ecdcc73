"""The one spelling of a URL, and what is no destination."""

import json
from pathlib import Path

import pytest

from delivery.channels.urls import normalise_url
from delivery.errors import BadDestinationError

GOLDEN = json.loads((Path(__file__).parent / "golden_urls.json").read_text())


@pytest.mark.parametrize(("given", "spelled"), GOLDEN.items(), ids=list(GOLDEN))
def test_a_url_keeps_its_one_spelling_for_ever(given: str, spelled: str) -> None:
    assert normalise_url(given, allow_http=True) == spelled
    assert normalise_url(spelled, allow_http=True) == spelled


@pytest.mark.parametrize(
    "given",
    [
        "",
        " ",
        "None",
        "user",
        "heartbeat",
        "hooks.example.com/x",
        "//hooks.example.com/x",
        "ftp://hooks.example.com/x",
        "javascript:alert(1)",
        "https://",
        "https:///x",
        "https://None/x",
        "https://user:pass@hooks.example.com/",
        "https://user@hooks.example.com/",
        "https://hooks.example.com/#part",
        "https://hooks.example.com/x#",
        "https://hooks.example.com/a b",
        "https://hooks.example.com\\@evil.example/",
        "https://hooks.example.com/%zz",
        "https://hooks.example.com:99999/",
        "https://hooks.example.com:port/",
        "https://[::1/",
        "https://[fe80::1%25eth0]/",
        "https://ex..ample.com/",
        "https://" + "a" * 64 + ".example/",
        "https://hooks.example.com/" + "x" * 1000,
        "https://hooks.example.com/" + "ü" * 300,
        "https://hooks.example.com/\r\nEvil: 1",
        "https://hooks.example.com/\u200b",
    ],
)
def test_what_is_no_destination_is_refused_with_a_right_example(given: str) -> None:
    with pytest.raises(BadDestinationError) as caught:
        normalise_url(given, allow_http=True)

    assert caught.value.right


def test_an_unencrypted_url_needs_the_channels_word() -> None:
    with pytest.raises(BadDestinationError, match="allow_http"):
        normalise_url("http://hooks.example.com/", allow_http=False)
