"""The simulator's adapter against its recipient process: keys, conflicts, look-ups, scans."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from delivery.channels.contract import Envelope, Finding, Query
from delivery.channels.simulator import SimulatorAdapter
from delivery.errors import BadContentError, BadDestinationError, SecretError
from delivery.outcomes import Accepted, Ambiguous, Deferred, InFlight, NotSent, Outcome, Refused
from delivery.simulator.client import Simulator
from delivery.timing import boottime
from tests.channels.notebook import Notebook
from tests.channels.peers import Peer, answering, status

ROOM = "room:ops"
RECOGNIZER = "dlvq2mx9kabcdefghijkl"


@pytest.fixture(scope="module")
def started() -> Iterator[Simulator]:
    with Simulator.start() as simulator:
        yield simulator


@pytest.fixture
def recipient(started: Simulator) -> Simulator:
    started.forget()
    return started


def adapter_of(recipient: Simulator, secret: str = "", **settings: Any) -> SimulatorAdapter:
    return SimulatorAdapter({"url": recipient.url, **settings}, lambda: secret)


def send(
    adapter: SimulatorAdapter, key: str = "k", text: str = "hi", seconds: float = 5
) -> Outcome:
    rendered = adapter.render(Envelope({"text": text}, ROOM, 1, 1, RECOGNIZER))
    return adapter.submit(rendered, key, Notebook())


def look_up(
    adapter: SimulatorAdapter, key: str = "k", named: str = "", **query: Any
) -> list[Finding]:
    since = query.get("since", datetime.now(UTC) - timedelta(seconds=30))
    asked = Query("d", key, query.get("recognizer", RECOGNIZER), ROOM, named, since)
    return list(adapter.look_up(asked, boottime() + query.get("seconds", 5)))


# --- Submissions ---------------------------------------------------------------------------------


def test_a_repeated_key_is_replayed_within_the_window_and_acted_on_after_it(
    recipient: Simulator,
) -> None:
    recipient.behave(dedupe_s=3600)
    adapter = adapter_of(recipient, dedupe_window_s=3600)

    first, second = send(adapter), send(adapter)
    recipient.set_clock(3601)
    third = send(adapter)

    assert first == Accepted("m00000001", replayed=False, response=first.response)
    assert isinstance(second, Accepted)
    assert (second.provider_message_id, second.replayed) == ("m00000001", True)
    assert isinstance(third, Accepted)
    assert not third.replayed
    assert recipient.effects(ROOM) == 2
    assert recipient.submissions(ROOM) == 3


def test_the_same_key_with_another_body_proves_an_earlier_arrival(recipient: Simulator) -> None:
    recipient.behave(dedupe_s=3600)
    adapter = adapter_of(recipient)

    send(adapter, text="one")
    outcome = send(adapter, text="two")

    assert isinstance(outcome, Ambiguous)
    assert outcome.mismatch
    assert recipient.effects(ROOM) == 1


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        ("in_flight", InFlight),
        ("mismatch", Ambiguous),
        ("409", Ambiguous),
        ("rate_limit", Deferred),
        ("refuse", Refused),
        ("unavailable", Ambiguous),
        ("502+effect", Ambiguous),
    ],
)
def test_its_answers_mean_what_it_declares(
    recipient: Simulator, behaviour: str, kind: type
) -> None:
    recipient.behave(ROOM, behaviour)

    assert isinstance(send(adapter_of(recipient)), kind)


def test_retry_after_arrives_verbatim(recipient: Simulator) -> None:
    recipient.behave(ROOM, {"do": "rate_limit", "retry_after": "1.5"})

    outcome = send(adapter_of(recipient))

    assert isinstance(outcome, Deferred)
    assert outcome.retry_after_s == 1.5


def test_a_secret_that_cannot_be_read_costs_no_attempt(recipient: Simulator) -> None:
    def missing() -> str:
        raise SecretError("gone")

    adapter = SimulatorAdapter({"url": recipient.url}, missing)

    assert send(adapter) == NotSent("gone", tried=False)
    (finding,) = look_up(adapter)
    assert finding.verdict == "inconclusive"
    assert recipient.submissions() == 0


# --- Look-ups by key and id ----------------------------------------------------------------------


def test_an_arrived_message_is_found_by_its_key_at_once(recipient: Simulator) -> None:
    recipient.behave(ROOM, "accept_and_reset")
    adapter = adapter_of(recipient)
    assert isinstance(send(adapter), Ambiguous)

    (finding,) = look_up(adapter)

    assert (finding.method, finding.verdict) == ("key_lookup", "found")
    assert finding.provider_message_id == "m00000001"


def test_a_message_that_never_arrived_is_absent_by_key_and_by_scan(recipient: Simulator) -> None:
    recipient.behave(ROOM, "reset")
    adapter = adapter_of(recipient)
    send(adapter)

    by_key, by_scan = look_up(adapter)

    assert (by_key.method, by_key.verdict) == ("key_lookup", "absent")
    assert (by_scan.method, by_scan.verdict) == ("surface_scan", "absent")
    assert by_scan.searched.startswith(f"GET {recipient.url}/v1/messages?to=room%3Aops")


def test_a_message_is_found_by_its_id(recipient: Simulator) -> None:
    adapter = adapter_of(recipient, look_up_by_key=False)
    send(adapter)

    (finding,) = look_up(adapter, named="m00000001")

    assert (finding.method, finding.verdict) == ("id_lookup", "found")


def test_an_id_that_is_not_found_proves_nothing(recipient: Simulator) -> None:
    adapter = adapter_of(recipient, look_up_by_key=False, scan=False)

    (finding,) = look_up(adapter, named="m00000009")

    assert (finding.method, finding.verdict) == ("id_lookup", "inconclusive")


def test_a_failing_look_up_falls_through_to_the_scan(recipient: Simulator) -> None:
    recipient.behave(look_up="error")
    adapter = adapter_of(recipient)
    send(adapter)

    by_key, by_scan = look_up(adapter)

    assert by_key.verdict == "inconclusive"
    assert by_scan.verdict == "found"


def test_a_message_shows_only_once_it_was_processed(recipient: Simulator) -> None:
    recipient.behave(visible_after_s=60)
    adapter = adapter_of(recipient, processing_s=60)
    send(adapter)

    early = look_up(adapter)
    recipient.set_clock(61)
    late = look_up(adapter)

    assert [finding.verdict for finding in early] == ["absent", "absent"]
    assert [finding.verdict for finding in late] == ["found"]
    assert adapter.declare().processing_s == 60


def test_a_look_up_ends_at_its_deadline(recipient: Simulator) -> None:
    adapter = adapter_of(recipient)

    findings = look_up(adapter, seconds=-1)

    assert [finding.verdict for finding in findings] == ["inconclusive", "inconclusive"]


@pytest.mark.parametrize(
    "page", ["<html>", "[]", "{}", '{"messages": [{}]}', '{"messages": 7, "next": null}']
)
def test_a_list_that_cannot_be_read_proves_nothing(page: str) -> None:
    with Peer(answering(status(200, body=page))) as peer:
        adapter = SimulatorAdapter({"url": peer.url, "look_up_by_key": False}, lambda: "")
        (finding,) = look_up(adapter)

    assert finding.verdict == "inconclusive"
    assert finding.pages == 0


# --- Scans ---------------------------------------------------------------------------------------


def scan(adapter: SimulatorAdapter, **query: Any) -> Finding:
    return look_up(adapter, key="", **query)[-1]


@pytest.mark.parametrize(
    "rewrite",
    [["smart_quotes"], ["markdown_to_html"], ["wrap"], ["footer"], ["wrap", "markdown_to_html"]],
    ids="+".join,
)
def test_a_visible_recognizer_survives_rewriting(recipient: Simulator, rewrite: list[str]) -> None:
    recipient.behave(rewrite=rewrite, hidden=False)
    adapter = adapter_of(recipient, recognizer_place="visible")
    send(adapter, text='It\'s "**done**" -- see <below> ... ' + "and more words " * 10)

    assert scan(adapter).verdict == "found"


def test_a_hidden_recognizer_survives_trimming(recipient: Simulator) -> None:
    recipient.behave(rewrite=["trim"])
    adapter = adapter_of(recipient, recognizer_place="both")
    send(adapter, text="x" * 500)

    assert scan(adapter).verdict == "found"


def test_a_surface_that_loses_both_places_must_be_declared_incomplete(
    recipient: Simulator,
) -> None:
    recipient.behave(rewrite=["trim"], hidden=False)
    adapter = adapter_of(recipient, surface_complete=False)
    send(adapter, text="x" * 500)

    assert scan(adapter).verdict == "inconclusive"


def test_the_scan_reads_every_page(recipient: Simulator) -> None:
    recipient.behave(page_size=2)
    adapter = adapter_of(recipient)
    send(adapter)
    for number in range(5):
        recipient.inject(ROOM, f"chatter {number}")

    finding = scan(adapter)

    assert finding.verdict == "found"
    assert finding.pages == 4


def test_a_page_limit_makes_it_inconclusive(recipient: Simulator) -> None:
    recipient.behave(page_size=2)
    for number in range(5):
        recipient.inject(ROOM, f"chatter {number}")

    assert scan(adapter_of(recipient, max_pages=2)).verdict == "inconclusive"


def test_a_copy_by_somebody_else_is_no_match_and_no_absence(recipient: Simulator) -> None:
    recipient.inject(ROOM, f"> ref {RECOGNIZER}", author="someone-else")

    finding = scan(adapter_of(recipient))

    assert finding.verdict == "inconclusive"
    assert "someone-else" in finding.why


def test_copies_by_somebody_else_beside_ours_change_nothing(recipient: Simulator) -> None:
    recipient.behave(foreign_copies=2)
    adapter = adapter_of(recipient)
    send(adapter)

    assert scan(adapter).verdict == "found"


def test_two_effects_are_found_as_many(recipient: Simulator) -> None:
    adapter = adapter_of(recipient)
    send(adapter, key="one")
    send(adapter, key="two")

    assert scan(adapter).verdict == "found_many"


def test_another_credential_sees_no_message_of_its_own(recipient: Simulator) -> None:
    send(adapter_of(recipient, secret="first"))

    assert scan(adapter_of(recipient, secret="second")).verdict == "inconclusive"
    assert scan(adapter_of(recipient, secret="first")).verdict == "found"


@pytest.mark.parametrize(
    "settings",
    [{"listing": "empty"}, {"listing": "error"}, {"may_read": False}, {"history_s": 5}],
    ids=str,
)
def test_a_surface_that_hides_something_never_proves_absence(
    recipient: Simulator, settings: dict[str, Any]
) -> None:
    recipient.behave(**settings)
    recipient.set_clock(10)

    assert scan(adapter_of(recipient)).verdict == "inconclusive"


def test_the_control_message_must_be_the_one_that_was_agreed(recipient: Simulator) -> None:
    recipient.inject(ROOM, "probe 7", author="counterfoil")

    assert scan(adapter_of(recipient, control_text="probe 7")).verdict == "absent"
    assert scan(adapter_of(recipient, control_text="probe 8")).verdict == "inconclusive"


# --- Declaration, destinations, parts ------------------------------------------------------------


def test_content_must_have_a_text(recipient: Simulator) -> None:
    adapter = adapter_of(recipient)

    adapter.check_content("plain")
    for content in (1, {}, {"text": ""}, {"text": None}):
        with pytest.raises(BadContentError):
            adapter.check_content(content)
    assert adapter.split("plain") == ["plain"]


def test_what_is_switched_off_is_neither_declared_nor_asked(recipient: Simulator) -> None:
    adapter = adapter_of(recipient, look_up_by_key=False, look_up_by_id=False, scan=False)

    assert not adapter.declare().can_look_up
    assert look_up(adapter, named="m1") == []


def test_only_this_machine_is_spoken_to() -> None:
    for url in ("http://192.0.2.1:80", "https://127.0.0.1:80", "http://127.0.0.1", "http://x:80"):
        assert SimulatorAdapter.check_settings({"url": url})
    assert SimulatorAdapter.check_settings({"url": "http://127.0.0.1:8000"}) == []
    assert SimulatorAdapter.check_settings({}) != []


def test_rooms_have_one_spelling(recipient: Simulator) -> None:
    assert adapter_of(recipient).normalise(" Room:Ops ") == "room:ops"


@pytest.mark.parametrize("given", ["", "None", "room:", "room:None", "room: null ", "heartbeat"])
def test_a_placeholder_is_no_room(recipient: Simulator, given: str) -> None:
    with pytest.raises(BadDestinationError):
        adapter_of(recipient).normalise(given)


def test_parts_leave_room_for_the_recognizer_and_the_mark_of_a_resend(
    recipient: Simulator,
) -> None:
    adapter = adapter_of(recipient, part_limit=200, part_unit="code_points")
    marker = "(sent again by a person's decision; an earlier copy may have arrived)"

    for part in adapter.split({"text": "word " * 100}):
        body = adapter.render(Envelope(part, ROOM, 1, 2, RECOGNIZER, marker)).body
        shown = body.decode().split('"text":"')[1].split('","to"')[0].replace("\\n", "\n")
        assert len(shown) <= 200
        assert RECOGNIZER in shown
