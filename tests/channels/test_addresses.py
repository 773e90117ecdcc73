"""Where nothing may be sent, however it is spelled."""

import socket
import threading
import time

import pytest

from delivery.channels import addresses
from delivery.channels.addresses import addresses_of, is_allowed
from delivery.channels.contract import Envelope
from delivery.channels.deadlines import Watched
from delivery.channels.http import Call, Failure, exchange
from delivery.channels.webhook import WebhookAdapter
from delivery.outcomes import Accepted, NotSent, Refused
from tests.channels.notebook import Notebook
from tests.channels.peers import OK, Peer, answering

PUBLIC = ["93.184.216.34", "8.8.8.8", "2606:4700:4700::1111", "64:ff9b::808:808"]
PRIVATE = [
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",  # noqa: S104  leads to this machine
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.1.1",
    "192.0.2.1",
    "255.255.255.255",
    "::",
    "::1",
    "fe80::1",
    "fc00::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "::127.0.0.1",
    "::10.0.0.1",
    "64:ff9b:1::7f00:1",
    "fec0::1",
    "5f00::1",
    "3fff::1",
    "192.0.0.8",
    "192.88.99.1",
    "::ffff:0:7f00:1",
    "4000::1",
]
METADATA = [
    "169.254.169.254",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "fd00:ec2::254",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "::a9fe:a9fe",
    "::ffff:0:a9fe:a9fe",
    "169.254.170.2",
    "169.254.170.23",
    "fd00:ec2::23",
    "fd20:ce::254",
    "169.254.0.23",
]
MULTICAST = ["224.0.0.1", "ff02::1", "::ffff:224.0.0.1"]


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_may_be_sent_to(address: str) -> None:
    assert is_allowed(address, allow_private=False)


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_only_where_the_channel_allows_it(address: str) -> None:
    assert not is_allowed(address, allow_private=False)
    assert is_allowed(address, allow_private=True)


@pytest.mark.parametrize("address", METADATA + MULTICAST)
def test_metadata_and_multicast_never(address: str) -> None:
    assert not is_allowed(address, allow_private=False)
    assert not is_allowed(address, allow_private=True)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "0177.0.0.1", "[::1]", "[::ffff:7f00:1]"],
)
def test_every_spelling_of_this_machine_is_refused_for_good(host: str) -> None:
    with Peer(answering(OK)) as peer:
        result = exchange(Call("POST", f"http://{host}:{peer.port}/"), Notebook())

    assert isinstance(result, Failure)
    assert isinstance(result.outcome, Refused)
    assert "allow_private" in result.outcome.why
    assert peer.connections == 0


def test_the_checked_address_is_the_one_that_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second look-up could answer otherwise (DNS rebinding), so there is none."""
    asked = []

    def rebinding(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        asked.append(host)
        address = "127.0.0.1" if len(asked) == 1 else "127.0.0.66"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    with Peer(answering(OK)) as peer:
        url = f"http://rebinding.test:{peer.port}/"
        exchange(Call("POST", url, allow_private=True), Notebook())

    assert asked == ["rebinding.test"]
    assert peer.effects == 1


def test_a_name_with_public_and_private_addresses_uses_only_the_public(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443))
        for address in ("10.0.0.1", "93.184.216.34", "169.254.169.254")
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

    used = addresses_of("mixed.test", 443, Watched(Notebook().deadline), allow_private=False)

    assert [address for _, address, _ in used] == ["93.184.216.34"]


@pytest.mark.parametrize("allowed", [True, False])
def test_the_channel_setting_decides(allowed: bool) -> None:
    adapter = WebhookAdapter({"allow_http": True, "allow_private": allowed}, lambda: "")
    with Peer(answering(OK)) as peer:
        rendered = adapter.render(Envelope({}, f"{peer.url}/", 1, 1, "dlvq2mx9kabcdefghijkl"))
        outcome = adapter.submit(rendered, "k", Notebook())

    assert isinstance(outcome, Accepted if allowed else Refused)
    assert peer.effects == allowed


def test_a_name_that_is_none_is_not_sent_to() -> None:
    result = exchange(Call("POST", "http://" + "a" * 70 + ".test/"), Notebook())

    assert isinstance(result, Failure)
    assert isinstance(result.outcome, NotSent)


def test_too_many_unanswered_look_ups_hold_no_more_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(addresses, "_MAX_LOOK_UPS", 0)

    result = exchange(Call("POST", "http://slow.test/"), Notebook())

    assert isinstance(result, Failure)
    assert isinstance(result.outcome, NotSent)
    assert "already unanswered" in result.outcome.why


def test_those_who_ask_at_the_same_time_share_one_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, answers = [], threading.Event()

    def slow(host: str, *_: object, **__: object) -> list[object]:
        asked.append(host)
        answers.wait(5)
        raise OSError("no such name")

    def ask() -> None:
        with pytest.raises(OSError, match="no such name"):
            addresses_of("slow.test", 443, Watched(Notebook().deadline), allow_private=False)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    threads = [threading.Thread(target=ask) for _ in range(5)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)  # all five have asked by now, or the count below is the smaller for it
    answers.set()
    for thread in threads:
        thread.join(5)

    assert asked == ["slow.test"]
