"""Encrypted calls: whom they trust, and what a broken one proves."""

import socket
import time

import pytest

from delivery.channels.http import exchange
from delivery.outcomes import Ambiguous, NotSent
from tests.channels.calls import answered, call_to, failed, over_tls
from tests.channels.notebook import Notebook
from tests.channels.peers import OK, Peer, Talk, answering


def test_a_trusted_certificate_is_accepted_and_the_answer_read() -> None:
    with Peer(over_tls(answering(OK))) as peer:
        result = answered(exchange(call_to(f"https://localhost:{peer.port}/x"), Notebook()))

    assert result.status_code == 200
    assert peer.effects == 1


@pytest.mark.parametrize(
    ("certificate", "ca_file"),
    [("server.pem", "stranger.pem"), ("other_host.pem", "ca.pem")],
    ids=["another authority", "another host"],
)
def test_a_certificate_that_proves_nothing_is_not_sent_to(certificate: str, ca_file: str) -> None:
    with Peer(over_tls(answering(OK), certificate)) as peer:
        call = call_to(f"https://localhost:{peer.port}/x", ca_file=ca_file)
        result = failed(exchange(call, Notebook()))

    assert isinstance(result.outcome, NotSent)
    assert "certificate" in result.outcome.why.lower()
    assert peer.requests == []


@pytest.mark.parametrize("effect", [True, False])
def test_a_tls_record_gone_bad_after_the_request_is_ambiguous(effect: bool) -> None:
    def script(talk: Talk) -> None:
        talk.read_request()
        if effect:
            talk.act()
        socket.socket.sendall(talk.sock, b"\x17\x03\x03\x00\x20" + b"\xff" * 32)

    with Peer(over_tls(script)) as peer:
        result = failed(exchange(call_to(f"https://localhost:{peer.port}/x"), Notebook()))

    assert isinstance(result.outcome, Ambiguous)
    assert result.phase == "written"


def test_a_hang_behind_tls_ends_at_the_deadline() -> None:
    def script(talk: Talk) -> None:
        talk.read_request()
        talk.hang()

    started = time.monotonic()

    with Peer(over_tls(script)) as peer:
        url = f"https://localhost:{peer.port}/x"
        result = failed(exchange(call_to(url), Notebook(seconds=0.4)))

    assert isinstance(result.outcome, Ambiguous)
    assert time.monotonic() - started < 5
