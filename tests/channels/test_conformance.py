"""The suite that every adapter runs: whatever the peer does, one submission and no unsafe word."""

import logging
from typing import Any

import pytest

from delivery.channels.contract import Envelope
from delivery.outcomes import Accepted, Ambiguous, NotSent
from tests.channels.faults import FAULTS, Fault
from tests.channels.notebook import Notebook
from tests.channels.peers import OK, Peer, answering
from tests.conformance.adapters import BLIND, KEY, MADE, PLAIN, RECOGNIZER, SECRET, submit

# The others, and mail, are taken by `make conformance`: the transport is the same.
NAMES = sorted(PLAIN)


@pytest.fixture(autouse=True)
def own_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_SECRET", SECRET)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_met_with_one_submission_and_no_unsafe_word(
    name: str, fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    with Peer(fault.script) as peer:
        outcome = submit(name, peer.url, Notebook(fault.seconds))
        if fault.acted:
            assert peer.acted.wait(5)

    assert len(peer.requests) <= 1
    assert peer.effects == fault.acted
    if fault.acted:
        assert isinstance(outcome, Accepted | Ambiguous)
    if name not in BLIND:
        assert isinstance(outcome, fault.says), outcome
    assert SECRET not in repr(outcome)
    assert SECRET not in caplog.text


@pytest.mark.parametrize("name", ["webhook", "simulator"])
def test_an_echoed_secret_is_not_kept(name: str) -> None:
    def echo(talk: Any) -> None:
        request = talk.read_request()
        talk.send(b"HTTP/1.1 500 No\r\nContent-Length: %d\r\n\r\n%s" % (len(request), request))

    with Peer(echo) as peer:
        outcome = submit(name, peer.url, Notebook())

    assert SECRET.encode() in peer.requests[0]
    assert SECRET not in repr(outcome)
    assert "[secret]" in outcome.response


@pytest.mark.parametrize("name", NAMES)
def test_the_key_arrives_byte_for_byte_on_every_attempt(name: str) -> None:
    with Peer(answering(OK)) as peer:
        for _ in range(2):
            submit(name, peer.url, Notebook())

    for request in peer.requests:
        assert f"\r\nIdempotency-Key: {KEY}\r\n".encode() in request
    assert len({request.partition(b"\r\n\r\n")[2] for request in peer.requests}) == 1


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_names_the_provider_id(name: str) -> None:
    with Peer(answering(OK)) as peer:
        outcome = submit(name, peer.url, Notebook())

    assert isinstance(outcome, Accepted)
    assert outcome.provider_message_id == "m7"


@pytest.mark.parametrize("name", NAMES)
def test_a_recipient_that_does_not_listen_was_not_sent_to(name: str) -> None:
    with Peer(answering(OK)) as peer:
        url = peer.url

    outcome = submit(name, url, Notebook())

    assert isinstance(outcome, Ambiguous if name in BLIND else NotSent)


@pytest.mark.parametrize("name", NAMES)
def test_the_last_check_can_hold_a_call_back(name: str) -> None:
    from delivery.errors import HeldBackError

    def refuse() -> None:
        raise HeldBackError("the lease is too short")

    journal = Notebook(at_last_check=refuse)
    with Peer(answering(OK)) as peer:
        outcome = submit(name, peer.url, journal)

    assert outcome == NotSent("the lease is too short", tried=False)
    assert peer.requests == []
    assert journal.written == 0


@pytest.mark.parametrize("name", NAMES)
def test_the_last_check_happens_once_and_before_the_first_byte(name: str) -> None:
    journal = Notebook()
    with Peer(answering(OK)) as peer:
        submit(name, peer.url, journal)

    assert journal.entries.count("last check") == 1
    before = journal.entries[: journal.entries.index("last check")]
    assert not {"writing", "written", "status"} & set(before)
    assert journal.entries[-1] == "status"


@pytest.mark.parametrize("name", NAMES)
def test_the_same_envelope_renders_the_same_bytes(name: str) -> None:
    adapter, destination = MADE[name]("http://127.0.0.1:9")
    envelope = Envelope({"text": "a", "b": [1, None]}, destination, 1, 1, RECOGNIZER)

    assert adapter.render(envelope) == adapter.render(envelope)


@pytest.mark.parametrize("name", NAMES)
def test_declaring_needs_no_network_and_freezes_to_json(name: str) -> None:
    import json

    adapter, _ = MADE[name]("http://127.0.0.1:9")

    frozen = adapter.declare().frozen()

    assert json.loads(json.dumps(frozen))["adapter"] == name
    assert frozen["refusals"]


@pytest.mark.parametrize("name", NAMES)
def test_the_settings_used_here_are_right_ones(name: str) -> None:
    adapter, _ = MADE[name]("http://127.0.0.1:9")

    assert adapter.check_settings(adapter.settings) == []
    assert adapter.check_settings({"sped": 1})
