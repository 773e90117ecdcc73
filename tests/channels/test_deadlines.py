"""A call ends at its deadline, whatever the peer and the resolver do."""

import socket
import threading
import time

import pytest

from delivery.channels.http import exchange
from delivery.outcomes import NotSent
from tests.channels.calls import answered, call_to, failed
from tests.channels.notebook import Notebook
from tests.channels.peers import OK, Peer, Script, Talk, answering, status


def _reset_in_the_handshake(talk: Talk) -> None:
    talk.sock.recv(1)
    talk.reset()


def _drip_in_the_handshake(talk: Talk) -> None:
    talk.sock.recv(1)
    talk.drip(b"\x16\x03\x03\x40\x00" + b"\0" * 500)


HANDSHAKES: dict[str, Script] = {
    "hang": lambda talk: talk.hang(),
    "reset": _reset_in_the_handshake,
    "drip": _drip_in_the_handshake,
    "plain text": lambda talk: talk.send(status(200)),
}


@pytest.mark.parametrize("script", HANDSHAKES.values(), ids=HANDSHAKES)
def test_a_broken_handshake_is_not_sent_and_within_the_deadline(script: Script) -> None:
    started = time.monotonic()

    with Peer(script) as peer:
        url = peer.url.replace("http:", "https:")
        result = failed(exchange(call_to(url), Notebook(seconds=0.3)))

    assert result.phase == "connecting"
    assert isinstance(result.outcome, NotSent)
    assert time.monotonic() - started < 5


def test_a_dripping_peer_cannot_hold_a_call_beyond_its_deadline() -> None:
    def script(talk: Talk) -> None:
        talk.read_request()
        talk.drip(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000, every_s=0.01)

    started = time.monotonic()

    with Peer(script) as peer:
        result = answered(exchange(call_to(peer.url), Notebook(seconds=0.4)))

    assert result.status_code == 200
    assert not result.whole
    assert time.monotonic() - started < 5


def test_a_deadline_that_has_passed_sends_nothing() -> None:
    with Peer(answering(OK)) as peer:
        result = failed(exchange(call_to(peer.url), Notebook(seconds=-1)))

    assert isinstance(result.outcome, NotSent)
    assert peer.requests == []


def test_a_deadline_that_passes_during_the_last_check_is_told_as_such() -> None:
    with Peer(answering(OK)) as peer:
        journal = Notebook(seconds=0.2, at_last_check=lambda: time.sleep(0.3))
        result = failed(exchange(call_to(peer.url), journal))

    assert peer.requests == []
    assert result.outcome == NotSent(
        "the call's time was over, in phase writing",
    )


def test_many_calls_each_end_at_their_own_deadline() -> None:
    overruns: list[float] = []

    def one(seconds: float) -> None:
        started = time.monotonic()
        failed(exchange(call_to(peer.url), Notebook(seconds)))
        overruns.append(time.monotonic() - started - seconds)

    with Peer(lambda talk: talk.hang()) as peer:
        threads = [threading.Thread(target=one, args=(0.1 + i / 100,)) for i in range(30)]
        for thread in reversed(threads):
            thread.start()
        for thread in threads:
            thread.join()

    assert len(overruns) == 30
    assert max(overruns) < 3


# --- Names ---------------------------------------------------------------------------------------


def test_a_name_that_does_not_resolve_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    result = failed(exchange(call_to("http://nowhere.test/"), Notebook()))

    assert isinstance(result.outcome, NotSent)
    assert "Name or service not known" in result.outcome.why


def test_a_resolver_that_hangs_is_left_behind_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = threading.Event()

    def hanging(*_: object, **__: object) -> list[object]:
        answers.wait(10)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hanging)
    started = time.monotonic()

    result = failed(exchange(call_to("http://slow.test/"), Notebook(seconds=0.2)))
    answers.set()

    assert isinstance(result.outcome, NotSent)
    assert result.phase == "connecting"
    assert time.monotonic() - started < 5


def test_the_first_address_that_answers_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with Peer(answering(OK)) as peer:
        found = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, peer.port))
            for host in ("127.0.0.77", "127.0.0.1")
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        result = answered(exchange(call_to(f"http://two.test:{peer.port}/"), Notebook()))

    assert result.status_code == 200
    assert f"Host: two.test:{peer.port}".encode() in peer.requests[0]
