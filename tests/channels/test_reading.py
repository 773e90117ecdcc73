"""Reading answers: whatever bytes come, only a whole status line is an answer."""

import http.client
import re
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.channels.answers import retry_after_s
from delivery.channels.reading import PartialAnswer, read_answer

PIECES = st.sampled_from(
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.0 204\r\n",
        b"HTTP/1.1 500 No\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 42\r\n",
        b"HTTP/1.1 20",
        b"Content-Length: 3\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: many\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: close\r\n",
        b"no colon\r\n",
        b": no name\r\n",
        b" folded\r\n",
        b"\r\n",
        b"\n",
        b"3\r\nabc\r\n",
        b"0\r\n\r\n",
        b"ffffffffffffffffffff\r\n",
        b"abc",
        b"\x00\xff",
    ]
)


def read(data: bytes) -> PartialAnswer | None:
    """What is made of these bytes and an end; None where there was no answer."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        ours.settimeout(5)
        try:
            return read_answer(ours, "POST")
        except (OSError, http.client.HTTPException, ValueError):
            return None


@given(st.lists(st.one_of(PIECES, st.binary(max_size=8)), max_size=12).map(b"".join))
def test_an_answer_is_one_whose_status_line_is_whole(data: bytes) -> None:
    answer = read(data)

    if answer is not None:
        assert 100 <= answer.status_code <= 999
        line = rb"HTTP/1\.[^\n]*%d[^\n]*\n" % answer.status_code
        assert re.search(line, data)


@given(st.integers(0, len(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc")))
def test_an_answer_cut_anywhere_is_never_taken_for_whole(length: int) -> None:
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"

    answer = read(whole[:length])

    assert (answer is not None) == (length >= len(b"HTTP/1.1 200 OK\r\n"))
    if answer is not None:
        assert answer.whole == answer.reusable == (length == len(whole))


def test_an_answer_that_ends_with_the_connection_is_whole_and_not_reusable() -> None:
    answer = read(b"HTTP/1.1 200 OK\r\n\r\nabc")

    assert answer is not None
    assert answer.content == b"abc"
    assert answer.whole
    assert not answer.reusable


@pytest.mark.parametrize(
    "head",
    [
        b"200 OK\r\nContent-Length: 3\r\nContent-Length: 40",
        b"200 OK\r\nContent-Length: +3",
        b"200 OK\r\nContent-Length: 40\r\nTransfer-Encoding: chunked",
        b"204 None\r\nContent-Length: 3",
    ],
)
def test_an_answer_whose_end_can_be_seen_elsewhere_is_the_last_on_its_connection(
    head: bytes,
) -> None:
    body = b"3\r\nabc\r\n0\r\n\r\n" if b"chunked" in head else b"abc"

    answer = read(b"HTTP/1.1 " + head + b"\r\n\r\n" + body)

    assert answer is not None
    assert answer.whole
    assert not answer.reusable


def test_every_wait_that_was_asked_for_is_kept() -> None:
    head = b"HTTP/1.1 429 Slow\r\nRetry-After: 30\r\nX: y\r\nretry-after: 2\r\n"

    answer = read(head + b"Content-Length: 0\r\n\r\n")

    assert answer is not None
    assert answer.headers["Retry-After"] == "30, 2"
    assert retry_after_s(answer) == 30.0


def test_every_cookie_is_kept() -> None:
    head = b"HTTP/1.1 302 Found\r\nSet-Cookie: a=1; Path=/\r\nSet-Cookie: b=2\r\n"

    answer = read(head + b"Content-Length: 0\r\n\r\n")

    assert answer is not None
    assert answer.headers["Set-Cookie"] == "a=1; Path=/, b=2"
