"""Connections are kept for a moment, and used again only while nothing happened on them."""

import dataclasses
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from delivery.channels import connections
from delivery.channels.connections import kept
from delivery.channels.http import Failure, exchange
from delivery.channels.reading import PartialAnswer
from delivery.errors import HeldBackError
from delivery.outcomes import NotSent
from tests.channels.calls import answered, call_to, failed, over_tls
from tests.channels.notebook import Notebook
from tests.channels.peers import CERTIFICATES, OK, Peer, Script, Talk, answering, status


def test_a_connection_is_used_again() -> None:
    with Peer(answering(OK)) as peer:
        for _ in range(3):
            answered(exchange(call_to(peer.url), Notebook()))

    assert len(peer.requests) == 3
    assert peer.connections == 1


def test_a_tls_connection_is_used_again() -> None:
    with Peer(over_tls(answering(OK))) as peer:
        for _ in range(3):
            answered(exchange(call_to(f"https://localhost:{peer.port}/x"), Notebook()))

    assert peer.connections == 1


def _answer_then(end: Callable[[Talk], None], done: threading.Event) -> Script:
    def script(talk: Talk) -> None:
        talk.read_request()
        talk.send(OK)
        end(talk)
        done.set()

    return script


@pytest.mark.parametrize(
    "end",
    [lambda talk: talk.sock.close(), lambda talk: talk.reset(), lambda talk: talk.send(OK)],
    ids=["closed", "reset", "an answer nobody asked for"],
)
def test_a_kept_connection_on_which_something_happened_is_not_used(
    end: Callable[[Talk], None],
) -> None:
    done = threading.Event()
    with Peer(_answer_then(end, done)) as peer:
        answered(exchange(call_to(peer.url), Notebook()))
        assert done.wait(5)
        time.sleep(0.02)  # what the peer did crosses the loopback
        answered(exchange(call_to(peer.url), Notebook()))

    assert peer.connections == 2
    assert len(peer.requests) == 2


def test_a_connection_that_was_idle_too_long_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "IDLE_S", -1.0)

    with Peer(answering(OK)) as peer:
        for _ in range(3):
            answered(exchange(call_to(peer.url), Notebook()))

    assert peer.connections == 3


@pytest.mark.parametrize(
    "answer",
    [
        status(200, "Connection: close"),
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        OK[:-2],
    ],
    ids=["asked to close", "HTTP/1.0", "cut"],
)
def test_a_connection_that_cannot_carry_more_is_not_kept(answer: bytes) -> None:
    def script(talk: Talk) -> None:
        talk.read_request()
        talk.send(answer)

    with Peer(script) as peer:
        for _ in range(2):
            answered(exchange(call_to(peer.url), Notebook()))

    assert peer.connections == 2


def test_a_channel_may_want_a_new_connection_each_time() -> None:
    with Peer(answering(OK)) as peer:
        for _ in range(2):
            call = dataclasses.replace(call_to(peer.url), keep=False)
            answered(exchange(call, Notebook()))

    assert peer.connections == 2
    assert b"\r\nConnection: close\r\n" in peer.requests[0]


def test_a_replaced_file_of_authorities_counts_at_once(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    with Peer(over_tls(answering(OK))) as peer:
        call = call_to(f"https://localhost:{peer.port}/x", ca_file=str(file))
        file.write_bytes((CERTIFICATES / "stranger.pem").read_bytes())
        before = exchange(call, Notebook())
        file.write_bytes((CERTIFICATES / "ca.pem").read_bytes())
        os.utime(file, ns=(1, 1))
        after = exchange(call, Notebook())

    assert isinstance(before, Failure)
    answered(after)


def test_a_connection_held_back_from_is_closed() -> None:
    def refuse() -> None:
        raise HeldBackError("no")

    with Peer(answering(OK)) as peer:
        exchange(call_to(peer.url), Notebook(at_last_check=refuse))
        answered(exchange(call_to(peer.url), Notebook()))

    assert peer.connections == 2


def test_connections_are_not_shared_between_channels_with_other_rules() -> None:
    with Peer(over_tls(answering(OK))) as peer:
        url = f"https://localhost:{peer.port}/x"
        answered(exchange(call_to(url), Notebook()))
        result = failed(exchange(call_to(url, ca_file="stranger.pem"), Notebook()))

    assert isinstance(result.outcome, NotSent)


def test_idle_connections_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_KEPT", 3)
    peers = [Peer(answering(OK)) for _ in range(6)]

    for peer in peers:
        answered(exchange(call_to(peer.url), Notebook()))

    assert kept._count == 3
    for peer in peers:
        peer.__exit__(None, None, None)


def test_a_forked_child_uses_no_connection_of_its_parent() -> None:
    with Peer(answering(OK)) as peer:
        answered(exchange(call_to(peer.url), Notebook()))
        child = os.fork()
        if child == 0:
            result = exchange(call_to(peer.url), Notebook())
            os._exit(0 if isinstance(result, PartialAnswer) else 1)
        _, ended = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(ended) == 0
    assert peer.connections == 2


def test_threads_share_connections_and_lose_nothing() -> None:
    def work() -> None:
        done.extend(
            isinstance(exchange(call_to(peer.url), Notebook()), PartialAnswer) for _ in range(20)
        )

    done: list[bool] = []
    with Peer(answering(OK)) as peer:
        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert done == [True] * 320
    assert len(peer.requests) == 320
    assert peer.connections <= 16
