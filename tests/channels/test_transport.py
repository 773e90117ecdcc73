"""The transport alone: phases, and what must not be written."""

import socket
import threading
import time

import pytest

from delivery.channels.http import Call, exchange
from delivery.channels.reading import MAX_READ
from delivery.outcomes import Ambiguous, NotSent, Refused
from tests.channels.calls import answered, call_to, failed
from tests.channels.notebook import Notebook
from tests.channels.peers import OK, Peer, Talk, answering, status


def test_phases_come_in_order_with_the_last_check_right_before_the_first_byte() -> None:
    journal = Notebook()
    with Peer(answering(OK)) as peer:
        exchange(call_to(peer.url), journal)

    assert journal.entries == [
        "connecting",
        "connected",
        "last check",
        "writing",
        "written",
        "status",
    ]
    assert journal.written == len(peer.requests[0])


def test_nothing_is_on_the_wire_while_the_last_check_runs() -> None:
    arrived = threading.Event()
    seen_early: list[bool] = []

    def script(talk: Talk) -> None:
        talk.read_request()
        arrived.set()
        talk.send(OK)

    journal = Notebook(at_last_check=lambda: seen_early.append(arrived.wait(0.1)))
    with Peer(script) as peer:
        exchange(call_to(peer.url), journal)

    assert seen_early == [False]
    assert arrived.is_set()


def test_a_surprise_in_the_last_check_is_not_sent() -> None:
    def broken() -> None:
        raise RuntimeError("a bug")

    with Peer(answering(OK)) as peer:
        result = failed(exchange(call_to(peer.url), Notebook(at_last_check=broken)))

    assert isinstance(result.outcome, NotSent)
    assert peer.requests == []


def test_what_ends_the_process_is_not_swallowed() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with Peer(answering(OK)) as peer, pytest.raises(KeyboardInterrupt):
        exchange(call_to(peer.url), Notebook(at_last_check=interrupted))


def test_a_peer_that_left_before_the_first_byte_got_nothing() -> None:
    checking, left = threading.Event(), threading.Event()

    def script(talk: Talk) -> None:
        checking.wait(5)
        talk.reset()
        left.set()

    def wait_for_the_reset() -> None:
        checking.set()
        assert left.wait(5)
        time.sleep(0.02)  # the RST crosses the loopback

    journal = Notebook(at_last_check=wait_for_the_reset)
    with Peer(script) as peer:
        result = failed(exchange(call_to(peer.url), journal))

    assert isinstance(result.outcome, NotSent)
    assert result.phase == "writing"
    assert journal.written == 0


def test_a_long_body_that_is_not_taken_is_ambiguous_and_counted() -> None:
    def script(talk: Talk) -> None:
        talk.sock.recv(1)
        talk._peer.closing.wait(5)

    journal = Notebook(seconds=1)
    with Peer(script) as peer:
        result = failed(exchange(call_to(peer.url, b"x" * 30_000_000), journal))

    assert isinstance(result.outcome, Ambiguous)
    assert result.phase == "writing"
    assert 0 < journal.written < 30_000_000


def test_an_answer_given_before_the_whole_body_was_read_counts() -> None:
    def script(talk: Talk) -> None:
        talk.sock.recv(1000)
        talk.send(status(413, "Connection: close"))
        talk.sock.shutdown(socket.SHUT_WR)
        talk.hang()

    with Peer(script) as peer:
        result = answered(exchange(call_to(peer.url, b"x" * 3_000_000), Notebook()))

    assert result.status_code == 413


@pytest.mark.parametrize("body", [b"x" * 200_000, b"x" * MAX_READ])
def test_only_the_beginning_of_a_long_answer_is_read(body: bytes) -> None:
    with Peer(answering(status(200, body=body.decode()))) as peer:
        result = answered(exchange(call_to(peer.url), Notebook()))

    assert len(result.content) == MAX_READ
    assert not result.reusable


def test_a_chunked_answer_is_read_whole() -> None:
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{} \n\r\n0\r\n\r\n"
    with Peer(answering(answer)) as peer:
        result = answered(exchange(call_to(peer.url), Notebook()))

    assert result.content == b"{} \n"
    assert result.whole


# --- What must not be written --------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {"X": "a\r\nEvil: 1"},
        {"X": "a\nEvil: 1"},
        {"X": "a\r b"},
        {"X": "a\x00b"},
        {"X\r\nEvil": "1"},
        {"X Y": "1"},
        {"": "1"},
        {"X": "grüße"},
        {"X": "a\x7f"},
    ],
)
def test_a_header_that_would_mean_something_else_is_refused(headers: dict[str, str]) -> None:
    with Peer(answering(OK)) as peer:
        result = failed(exchange(Call("POST", peer.url, headers, allow_private=True), Notebook()))

    assert isinstance(result.outcome, Refused)
    assert peer.connections == 0


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/a b",
        "http://127.0.0.1:1/a\r\nEvil: 1",
        "http://127.0.0.1:1/ü",
        "ftp://127.0.0.1:1/",
        "http:///path",
        "127.0.0.1",
        "",
    ],
)
def test_a_url_that_cannot_be_called_is_refused(url: str) -> None:
    result = failed(exchange(Call("POST", url, allow_private=True), Notebook()))

    assert isinstance(result.outcome, Refused)


def test_a_password_in_a_url_is_not_sent_as_host() -> None:
    with Peer(answering(OK)) as peer:
        url = peer.url.replace("//", "//user:pass@")
        answered(exchange(call_to(url), Notebook()))

    assert b"user" not in peer.requests[0]


def test_the_environment_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("NETRC", "/nonexistent")

    with Peer(answering(OK)) as peer:
        result = answered(exchange(call_to(peer.url), Notebook()))

    assert result.status_code == 200
