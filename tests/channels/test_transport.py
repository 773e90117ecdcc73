"""The transport alone: phases, the total deadline, TLS, kept connections, malformed requests."""

import dataclasses
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from delivery.channels import connections
from delivery.channels.connections import kept
from delivery.channels.http import Call, Failure, exchange
from delivery.channels.reading import MAX_READ, PartialAnswer
from delivery.errors import HeldBackError
from delivery.outcomes import Ambiguous, NotSent, Refused
from tests.channels.notebook import Notebook
from tests.channels.peers import CERTIFICATES, OK, Peer, Script, Talk, answering, status

BODY = b'{"data": 1}'


@pytest.fixture(autouse=True)
def no_connection_of_another_test() -> Iterator[None]:
    kept.reset()
    yield
    kept.reset()


def call_to(url: str, body: bytes = BODY, ca_file: str = "ca.pem") -> Call:
    return Call(
        "POST",
        url,
        {"Idempotency-Key": "k"},
        body,
        allow_private=True,
        ca_file=str(CERTIFICATES / ca_file),
    )


def failed(result: PartialAnswer | Failure) -> Failure:
    assert isinstance(result, Failure), result
    return result


def answered(result: PartialAnswer | Failure) -> PartialAnswer:
    assert isinstance(result, PartialAnswer), result
    return result


# --- Phases ------------------------------------------------------------------------------------


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

    journal = Notebook(seconds=0.3)
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


# --- The total deadline ------------------------------------------------------------------------


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
    assert time.monotonic() - started < 1.0


def test_a_dripping_peer_cannot_hold_a_call_beyond_its_deadline() -> None:
    def script(talk: Talk) -> None:
        talk.read_request()
        talk.drip(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000, every_s=0.01)

    started = time.monotonic()

    with Peer(script) as peer:
        result = answered(exchange(call_to(peer.url), Notebook(seconds=0.4)))

    assert result.status_code == 200
    assert not result.whole
    assert 0.3 < time.monotonic() - started < 1.0


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
    assert max(overruns) < 0.3


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
    assert time.monotonic() - started < 1.0


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


# --- TLS -----------------------------------------------------------------------------------------


def _tls(then: Callable[[Talk], None], certificate: str = "server.pem") -> Script:
    def script(talk: Talk) -> None:
        talk.start_tls(certificate)
        then(talk)

    return script


def test_a_trusted_certificate_is_accepted_and_the_answer_read() -> None:
    with Peer(_tls(answering(OK))) as peer:
        result = answered(exchange(call_to(f"https://localhost:{peer.port}/x"), Notebook()))

    assert result.status_code == 200
    assert peer.effects == 1


@pytest.mark.parametrize(
    ("certificate", "ca_file"),
    [("server.pem", "stranger.pem"), ("other_host.pem", "ca.pem")],
    ids=["another authority", "another host"],
)
def test_a_certificate_that_proves_nothing_is_not_sent_to(certificate: str, ca_file: str) -> None:
    with Peer(_tls(answering(OK), certificate)) as peer:
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

    with Peer(_tls(script)) as peer:
        result = failed(exchange(call_to(f"https://localhost:{peer.port}/x"), Notebook()))

    assert isinstance(result.outcome, Ambiguous)
    assert result.phase == "written"


def test_a_hang_behind_tls_ends_at_the_deadline() -> None:
    def script(talk: Talk) -> None:
        talk.read_request()
        talk.hang()

    started = time.monotonic()

    with Peer(_tls(script)) as peer:
        url = f"https://localhost:{peer.port}/x"
        result = failed(exchange(call_to(url), Notebook(seconds=0.4)))

    assert isinstance(result.outcome, Ambiguous)
    assert time.monotonic() - started < 1.5


# --- Kept connections ----------------------------------------------------------------------------


def test_a_connection_is_used_again() -> None:
    with Peer(answering(OK)) as peer:
        for _ in range(3):
            answered(exchange(call_to(peer.url), Notebook()))

    assert len(peer.requests) == 3
    assert peer.connections == 1


def test_a_tls_connection_is_used_again() -> None:
    with Peer(_tls(answering(OK))) as peer:
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
    with Peer(_tls(answering(OK))) as peer:
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
    with Peer(_tls(answering(OK))) as peer:
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
