"""Every behaviour, seen from the wire and from the count of effects."""

import http.client
import threading
import time
from typing import Any

import pytest

from delivery.simulator.behaviour import PRESETS, parse_behaviour
from delivery.simulator.client import Simulator
from tests.simulator.wires import BODY, call, connect, get, post, submission

BROKEN = (http.client.HTTPException, OSError)


def test_what_arrives_is_counted_and_named(recipient: Simulator) -> None:
    status, body, _ = post(recipient, "ops", "k1")

    assert (status, body) == (200, {"id": "m00000001"})
    assert recipient.effects("ops") == recipient.effects() == 1
    assert recipient.submissions("ops") == recipient.submissions() == 1
    (last,) = recipient.last_submissions("ops")
    assert (last["key"], last["did"], last["effect"]) == ("k1", "accept", "m00000001")
    assert len(last["body_hash"]) == 64


@pytest.mark.parametrize("name", PRESETS)
def test_a_behaviour_acts_exactly_if_it_says_so(recipient: Simulator, name: str) -> None:
    recipient.behave("ops", {"do": name, "drip_s": 5})

    try:
        post(recipient, timeout=0.1)
    except BROKEN:
        recipient.wait_for("submissions")

    assert recipient.effects("ops") == PRESETS[name].effect
    assert recipient.submissions("ops") == 1


@pytest.mark.parametrize("name", ["accept_and_reset", "reset"])
def test_a_reset_is_a_reset(recipient: Simulator, name: str) -> None:
    recipient.behave("ops", name)

    with pytest.raises(ConnectionResetError):
        post(recipient)


@pytest.mark.parametrize("name", ["accept_and_close", "close"])
def test_a_close_ends_without_a_byte(recipient: Simulator, name: str) -> None:
    recipient.behave("ops", name)

    with pytest.raises(http.client.RemoteDisconnected):
        post(recipient)


@pytest.mark.parametrize("name", ["accept_and_hang", "hang"])
def test_a_hang_answers_never(recipient: Simulator, name: str) -> None:
    recipient.behave("ops", name)

    with pytest.raises(TimeoutError):
        post(recipient, timeout=0.1)


def test_a_cut_body_is_shorter_than_it_says(recipient: Simulator) -> None:
    recipient.behave("ops", "accept_and_cut")

    with pytest.raises(http.client.IncompleteRead):
        post(recipient)


def test_garbage_is_a_200_without_json(recipient: Simulator) -> None:
    recipient.behave("ops", "accept_and_garbage")

    status, body, _ = post(recipient)

    assert status == 200
    assert isinstance(body, bytes)


def test_a_drip_comes_byte_by_byte_and_ends(recipient: Simulator) -> None:
    recipient.behave("ops", {"do": "accept_and_drip", "drip_s": 0.002})

    with connect(recipient) as sock:
        sock.sendall(submission())
        first = sock.recv(1000)
        received = first
        while b"}" not in received:
            received += sock.recv(1000)

    assert len(first) < 10
    assert received.endswith(b'{"id": "m00000001"}')


def test_a_redirect_leads_back_to_itself(recipient: Simulator) -> None:
    recipient.behave("ops", always="accept_and_redirect")

    status, _, headers = post(recipient)

    assert (status, headers["location"]) == (307, "/v1/messages")


@pytest.mark.parametrize(
    ("behaviour", "status", "told"),
    [
        ("in_flight", 409, {"error": "in_flight"}),
        ("mismatch", 409, {"error": "mismatch"}),
        ("rate_limit", 429, {"error": "rate_limit"}),
        ("unavailable", 503, {"error": "unavailable"}),
        ("refuse", 422, {"error": "refused"}),
        ("500", 500, {}),
        ("502", 502, {}),
        ("502+effect", 502, {}),
        ({"do": "answer", "status": 418, "body": '"tea"'}, 418, "tea"),
    ],
)
def test_an_answer_is_the_one_that_was_asked_for(
    recipient: Simulator, behaviour: object, status: int, told: Any
) -> None:
    recipient.behave("ops", behaviour)

    assert post(recipient)[:2] == (status, told)


@pytest.mark.parametrize("value", ["12", "1.5", "-1", "Sun, 29 Nov 2026 12:00:00 GMT", "soon"])
def test_retry_after_is_sent_verbatim(recipient: Simulator, value: str) -> None:
    recipient.behave("ops", {"do": "unavailable", "retry_after": value, "headers": {"X-Hop": "a"}})

    _, _, headers = post(recipient)

    assert headers["retry-after"] == value
    assert headers["x-hop"] == "a"


def test_a_held_submission_is_answered_when_it_is_released(recipient: Simulator) -> None:
    recipient.behave("ops", {"do": "accept_and_wait", "signal": "now"})
    answers: list[int] = []
    sender = threading.Thread(target=lambda: answers.append(post(recipient)[0]))
    sender.start()

    recipient.wait_for("held", signal="now")
    before = (recipient.effects("ops"), list(answers))
    released = recipient.release("now")
    sender.join(5)

    assert before == (1, [])
    assert released == 1
    assert answers == [200]
    assert recipient.release("now") == 0


def test_a_key_is_in_flight_while_it_is_held(recipient: Simulator) -> None:
    recipient.behave("ops", "accept_and_wait", in_flight="409", dedupe_s=60)
    with connect(recipient) as sock:
        sock.sendall(submission(key="k"))
        recipient.wait_for("held")

    meanwhile = post(recipient, key="k")
    recipient.release()
    afterwards = call(recipient, "POST", "/v1/messages", BODY, {"Idempotency-Key": "k"})

    assert meanwhile[:2] == (409, {"error": "in_flight"})
    assert afterwards[2]["idempotent-replayed"] == "true"
    assert recipient.effects("ops") == 1


def test_a_sender_that_is_gone_does_not_disturb_a_release(recipient: Simulator) -> None:
    recipient.behave("ops", "accept_and_wait")
    with connect(recipient) as sock:
        sock.sendall(submission())
        recipient.wait_for("held")

    recipient.release()

    assert post(recipient)[0] == 200
    assert recipient.effects("ops") == 2


def test_a_submission_cut_on_its_way_is_none(recipient: Simulator) -> None:
    with connect(recipient) as sock:
        sock.sendall(submission()[:-1])

    assert recipient.submissions() == 0


def test_many_requests_go_over_one_connection(recipient: Simulator) -> None:
    with connect(recipient) as sock:
        sock.sendall(submission(key="a") + submission(key="b"))
        recipient.wait_for("submissions", 2)

    assert [one["key"] for one in recipient.last_submissions()] == ["a", "b"]


# --- Scripts and settings ------------------------------------------------------------------------


def test_a_script_is_consumed_one_per_submission_and_then_over(recipient: Simulator) -> None:
    recipient.behave("ops", "502", "500", always="refuse")

    assert [post(recipient)[0] for _ in range(4)] == [502, 500, 422, 422]


def test_a_destinations_own_script_goes_before_everyones(recipient: Simulator) -> None:
    recipient.behave("*", "503", always="500")
    recipient.behave("ops", "502")

    assert [post(recipient, "ops")[0], post(recipient, "ops")[0]] == [502, 503]
    assert [post(recipient, "dev")[0], post(recipient, "ops")[0]] == [500, 500]


def test_settings_of_one_destination_leave_the_others(recipient: Simulator) -> None:
    recipient.behave("*", look_up="error")
    recipient.behave("ops", look_up="ok")
    for to in ("ops", "dev"):
        post(recipient, to, key=to)

    assert get(recipient, "/v1/look_up?key=ops")[0] == 200
    assert get(recipient, "/v1/look_up?key=dev")[0] == 500


def test_latency_comes_before_the_effect(recipient: Simulator) -> None:
    recipient.behave("ops", {"do": "accept", "after_s": 0.2}, latency_s=0.05)
    started = time.monotonic()

    with connect(recipient) as sock:
        sock.sendall(submission())
        early = recipient.effects("ops")
        recipient.wait_for("effects", to="ops")

    assert early == 0
    assert time.monotonic() - started >= 0.25


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"script": ["dance"]}, "unknown behaviour 'dance'"),
        ({"script": [7]}, "a name or an object"),
        ({"script": [{"do": "accept", "afters": 1}]}, "unknown options"),
        ({"settings": {"colour": 1}}, "unknown settings"),
        ({"settings": {"rewrite": ["rot13"]}}, "unknown rewrites"),
    ],
)
def test_an_order_that_makes_no_sense_is_refused_whole(
    recipient: Simulator, given: dict[str, Any], complaint: str
) -> None:
    script = ["502", *given.get("script", [])]

    with pytest.raises(ValueError, match=complaint):
        recipient.behave("ops", *script, **given.get("settings", {}))

    assert post(recipient)[0] == 200


def test_a_status_can_be_written_as_such() -> None:
    assert parse_behaviour("504+effect").effect
    assert parse_behaviour("504").status == 504
    with pytest.raises(ValueError, match="unknown behaviour"):
        parse_behaviour("504+something")
