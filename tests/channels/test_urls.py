"""The one spelling of a URL, and what is no destination."""

import json
import posixpath
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from delivery.authority import allowed_by
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
        "https://example.com../",
        "https://example.com.\u3002/",
        "https://\uff4e\uff4f\uff4e\uff45/",
        "https://./",
        "https://hooks.example.com:0/x",
        "https://2130706433/x",
        "https://127.1/x",
        "https://0x7f.0.0.1/",
        "https://0x7F000001/",
        "https://0177.0.0.1/",
        "https://1.2.3.4.5/",
        "https://256.1.1.1/",
        "https://example.0x/",
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


@pytest.mark.parametrize(
    "path",
    [
        "..",
        ".",
        "../admin",
        "./x",
        "x/..",
        "%2e%2e/admin",
        "%2E./admin",
        ".%2e/admin",
        "%2e/x",
        "..%2fadmin",
        "..%2Fadmin",
        "x%2f..%2fadmin",
        "..%5cadmin",
        "%2e%2e%5Cadmin",
        "..\\admin",
        "%252e%252e/admin",
        "%25252E%2e/admin",
        "..;/admin",
        "..;a=b/admin",
        "%2e%2e%3Bx/admin",
        "..?x=1",
    ],
)
def test_a_path_that_leads_out_of_where_it_seems_to_be_is_refused(path: str) -> None:
    with pytest.raises(BadDestinationError) as caught:
        normalise_url(f"https://hooks.example.com/team/{path}", allow_http=True)

    assert caught.value.right


PIECES = st.sampled_from([
    "/", ".", "..", "%2e", "%2E", "%2f", "%25", "%", "%7E", "~", "a", "B", "\u00e9", "e\u0301", "?",
    ";", "=", "\\", "%5c", "//", "%41", "%C3", "%a9", "+", "[", "|", "0", "1", ":", "@", "#",
    "\u3002",
])  # fmt: skip


@drawn(st.lists(PIECES, max_size=12), st.lists(PIECES, max_size=6))
def test_what_has_been_normalised_is_never_changed_again(path: list[str], host: list[str]) -> None:
    given = f"https://h{''.join(host)}.example/team/{''.join(path)}"
    try:
        spelled = normalise_url(given, allow_http=True)
    except BadDestinationError:
        return

    assert normalise_url(spelled, allow_http=True) == spelled
    assert spelled.isascii()


@drawn(st.lists(PIECES, max_size=12))
def test_a_rule_for_a_folder_cannot_be_left(path: list[str]) -> None:
    given = f"https://hooks.example.com/team/{''.join(path)}"
    try:
        spelled = normalise_url(given, allow_http=True)
    except BadDestinationError:
        return

    assert allowed_by(spelled, ["https://hooks.example.com/team/*"])
    acted_at = unquote(unquote(urlsplit(spelled).path)).replace("\\", "/")
    assert f"{posixpath.normpath(acted_at)}/".startswith("/team/")
