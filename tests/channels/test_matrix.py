"""Matrix where no server is needed: names of rooms, answers, and clocks of other servers."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from delivery.channels.contract import Envelope, Query
from delivery.channels.matrix import MatrixAdapter
from delivery.errors import BadDestinationError
from delivery.outcomes import Accepted, Ambiguous, Deferred, Outcome, Refused, Unauthorised
from delivery.timing import boottime
from tests.channels.notebook import Notebook
from tests.channels.peers import Peer, answering, status

ROOM = "!a:lab.test"
TOKEN = "dlvq2mx9kabcdefghijkl"
NOW = datetime.now(UTC)


def adapter(url: str = "http://127.0.0.1:9", **settings: Any) -> MatrixAdapter:
    given = {"base_url": url, "allow_private": True, **settings}
    return MatrixAdapter(given, lambda: "syt_secret")


def submit(answer: bytes) -> Outcome:
    with Peer(answering(answer)) as peer:
        made = adapter(peer.url)
        return made.submit(made.render(Envelope("x", ROOM, 1, 1, TOKEN)), "key-1", Notebook())


@pytest.mark.parametrize(
    ("given", "one_spelling"),
    [
        ("!Ab_c-9:lab.test", "!Ab_c-9:lab.test"),
        ("  !a:lab.test:8448 ", "!a:lab.test:8448"),
        ("!31hneApxJ_1o-63DmFrpeqnkFf", "!31hneApxJ_1o-63DmFrpeqnkFf"),
    ],
)
def test_a_room_has_one_spelling(given: str, one_spelling: str) -> None:
    assert adapter().normalise(given) == one_spelling


@pytest.mark.parametrize(
    "given", ["", "none", "#ops:lab.test", "@ops:lab.test", "!", "!a b", "!ä:lab.test", "!" * 256]
)
def test_what_names_no_room_is_refused(given: str) -> None:
    with pytest.raises(BadDestinationError, match="destination"):
        adapter().normalise(given)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (status(200, body='{"event_id": "$1"}'), Accepted),
        (status(200, body="not JSON"), Accepted),
        (status(403, body='{"errcode": "M_FORBIDDEN"}'), Refused),
        (status(401, body='{"errcode": "M_UNKNOWN_TOKEN"}'), Unauthorised),
        (status(401, body="<html>a proxy's own</html>"), Ambiguous),
        (status(403, body="<html>a proxy's own</html>"), Ambiguous),
        (status(400, body='{"errcode": "M_UNKNOWN"}'), Ambiguous),
        (status(400, body='{"errcode": ["M_FORBIDDEN"]}'), Ambiguous),
        (status(500, body='{"errcode": "M_FORBIDDEN"}'), Ambiguous),
        (status(502), Ambiguous),
        (status(307, "Location: /elsewhere"), Ambiguous),
        (status(429), Deferred),
        (status(429, body='{"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 2500}'), Deferred),
    ],
)
def test_an_answer_proves_what_the_specification_says_and_no_more(
    answer: bytes, kind: type[Outcome]
) -> None:
    assert isinstance(submit(answer), kind)


@pytest.mark.parametrize(
    ("body", "wait_s"), [('{"retry_after_ms": 2500}', 2.5), ('{"retry_after_ms": true}', 7.0)]
)
def test_the_wait_is_read_in_milliseconds_and_else_from_the_header(
    body: str, wait_s: float
) -> None:
    outcome = submit(status(429, "Retry-After: 7", body=body))

    assert isinstance(outcome, Deferred)
    assert outcome.retry_after_s == wait_s


def test_the_path_names_room_and_key_and_nothing_in_them_leads_elsewhere() -> None:
    made = adapter()
    rendered = made.render(Envelope("x", "!a/../b?c#d:lab.test", 1, 1, TOKEN))

    path = made.path(rendered, "key-1", "secret")

    assert path == (
        "/_matrix/client/v3/rooms/%21a%2F..%2Fb%3Fc%23d%3Alab.test/send/m.room.message/key-1"
    )


def event(sender: str, age: timedelta) -> dict[str, Any]:
    return {
        "type": "m.room.message",
        "event_id": f"${sender}{age.total_seconds()}",
        "sender": sender,
        "origin_server_ts": (NOW - age).timestamp() * 1000,
        "content": {"body": "chatter"},
    }


@pytest.mark.parametrize(
    ("sender", "verdict"),
    [("@them:other.test", "inconclusive"), ("@them:lab.test", "absent")],
    ids=["another server's clock", "our server's clock"],
)
def test_an_old_date_of_another_server_does_not_end_the_scan(sender: str, verdict: str) -> None:
    chunk = [event("@me:lab.test", timedelta(0)), event(sender, timedelta(days=3))]
    said = {"user_id": "@me:lab.test", "device_id": "D", "chunk": chunk, "end": "more"}
    query = Query("id", "key-1", TOKEN, ROOM, "", NOW - timedelta(hours=1))

    with Peer(answering(status(200, body=json.dumps(said)), effect=False)) as peer:
        reader = adapter(peer.url, surface_complete=True, max_pages=3)
        (finding,) = reader.look_up(query, boottime() + 10)

    assert finding.verdict == verdict
    assert finding.pages == (1 if verdict == "absent" else 3)


def test_a_window_of_the_operators_is_called_so() -> None:
    assert adapter().declare().window.confidence == "measured"
    assert adapter(dedupe_window_s=60).declare().window.confidence == "operator"
    unkeyed = adapter(dedupe_window_s=0).declare()
    assert (unkeyed.key_scope, unkeyed.tier) == ("none", "D")
