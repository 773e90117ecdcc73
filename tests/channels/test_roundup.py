"""Roundup where no server is needed: names of classes, titles, and what an answer proves."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from delivery.channels.contract import Envelope, Query
from delivery.channels.roundup import RoundupAdapter
from delivery.errors import BadContentError, BadDestinationError
from delivery.outcomes import (
    Accepted,
    Ambiguous,
    Deferred,
    NotSent,
    Outcome,
    Refused,
    Unauthorised,
)
from delivery.timing import boottime
from tests.channels.notebook import Notebook
from tests.channels.peers import Peer, Script, Talk, answering, status

TOKEN = "dlvq2mx9kabcdefghijkl"
LINK = json.dumps({"data": {"link": "http://x.test/t/rest/data/issue/@poe/ab-c", "expires": 1}})


def adapter(url: str = "http://127.0.0.1:9", **settings: Any) -> RoundupAdapter:
    given = {"base_url": url, "allow_private": True, "username": "agent", **settings}
    return RoundupAdapter(given, lambda: "a-password-of-nobody")


def error(code: int, message: str) -> bytes:
    return status(code, body=json.dumps({"error": {"status": code, "msg": message}}))


def after_the_address(answer: bytes) -> Script:
    def script(talk: Talk) -> None:
        while request := talk.read_request():
            talk.send(status(200, body=LINK) if b"/@poe HTTP" in request else answer)

    return script


def submit(script: Script) -> tuple[Outcome, Peer]:
    with Peer(script) as peer:
        made = adapter(peer.url)
        outcome = made.submit(made.render(Envelope("x", "issue", 1, 1, TOKEN)), "", Notebook())
        return outcome, peer


@pytest.mark.parametrize(
    ("given", "one_spelling"), [("issue", "issue"), (" bug_report ", "bug_report")]
)
def test_a_class_has_one_spelling(given: str, one_spelling: str) -> None:
    assert adapter().normalise(given) == one_spelling


@pytest.mark.parametrize("given", ["", "none", "Issue", "issue/1", "issue?x", "../user", "1"])
def test_what_names_no_class_is_refused(given: str) -> None:
    with pytest.raises(BadDestinationError, match="destination"):
        adapter().normalise(given)


@pytest.mark.parametrize(
    "content", ["", "two\nlines", 7, {"title": "x", "text": "no place for it"}, {"title": 7}]
)
def test_what_makes_no_title_is_refused_when_it_is_recorded(content: Any) -> None:
    with pytest.raises(BadContentError, match="content"):
        adapter().check_content(content)


def test_a_text_goes_where_the_tracker_has_a_place_for_it() -> None:
    made = adapter(text_property="description")
    content = {"title": "Done", "text": "a\nb"}

    rendered = made.render(Envelope(content, "issue", 1, 1, TOKEN, "sent again"))

    assert json.loads(rendered.body) == {
        "title": f"Done [ref {TOKEN} (sent again)]",
        "description": f"a\nb\n\nref {TOKEN} (sent again)",
    }


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (status(201, body='{"data": {"id": "7"}}'), Accepted),
        (status(201, body="cut"), Accepted),
        (error(400, "POE token 'ab-c' not valid."), Ambiguous),
        (error(400, "Property nope not found in class issue"), Refused),
        (status(400, body="<body><p>An error occurred.</p></body>"), Ambiguous),
        (status(401, body="Invalid Login"), Unauthorised),
        (error(403, "Permission to create issue denied"), Refused),
        (status(403, body="<html>a proxy's own</html>"), Ambiguous),
        (error(409, "Conflict"), Ambiguous),
        (status(429, "Retry-After: 9"), Deferred),
        (error(500, "Internal"), Ambiguous),
    ],
)
def test_an_answer_proves_what_the_interface_says_and_no_more(
    answer: bytes, kind: type[Outcome]
) -> None:
    outcome, peer = submit(after_the_address(answer))

    assert isinstance(outcome, kind), outcome
    assert [request.partition(b" HTTP")[0] for request in peer.requests] == [
        b"POST /rest/data/issue/@poe",
        b"POST /rest/data/issue/@poe/ab-c",
    ]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (status(200, body='{"data": {"link": "http://x.test/elsewhere"}}'), NotSent),
        (status(200, body='{"data": {"link": "http://x.test/@poe/../../user/1"}}'), NotSent),
        (status(200, body="[]"), NotSent),
        (status(302, "Location: /"), NotSent),
        (status(401), Unauthorised),
        (status(429, "Retry-After: 9"), Deferred),
        (status(500), NotSent),
    ],
)
def test_without_an_address_nothing_is_posted(answer: bytes, kind: type[Outcome]) -> None:
    outcome, peer = submit(answering(answer, effect=False))

    assert isinstance(outcome, kind), outcome
    assert len(peer.requests) == 1


def tracker(issues: list[dict[str, Any]], *, user: str = "agent") -> Script:
    """A tracker with these issues and one user."""

    def script(talk: Talk) -> None:
        while request := talk.read_request():
            asked = request.partition(b" HTTP")[0].decode()
            listed = [one for one in issues if TOKEN in one["title"] or "title=" not in asked]
            if "/data/user" in asked:
                listed = [{"id": "3", "username": user}]
            data = {"collection": listed, "@total_size": len(listed)}
            talk.send(status(200, body=json.dumps({"data": data})))

    return script


def issue(number: int, title: str) -> dict[str, Any]:
    made = datetime.now(UTC).strftime("%Y-%m-%d.%H:%M:%S")
    return {"id": str(number), "title": title, "creation": made, "creator": {"id": "3"}}


@pytest.mark.parametrize(
    ("titles", "verdict"),
    [
        (["chatter", f"x [ref {TOKEN}]"], "found"),
        ([f"x [ref {TOKEN}]", f"x [ref {TOKEN}]"], "found_many"),
        (["chatter"], "absent"),
        ([], "inconclusive"),
    ],
)
def test_the_list_tells_what_became_of_an_issue(titles: list[str], verdict: str) -> None:
    query = Query("id", "", TOKEN, "issue", "", datetime.now(UTC))

    with Peer(tracker([issue(n, title) for n, title in enumerate(titles)])) as peer:
        (finding,) = adapter(peer.url, surface_complete=True).look_up(query, boottime() + 10)

    assert finding.verdict == verdict


def test_who_is_not_shown_to_be_there_reads_nothing_that_counts() -> None:
    query = Query("id", "", TOKEN, "issue", "", datetime.now(UTC))

    with Peer(tracker([issue(1, "chatter")], user="agent2")) as peer:
        made = adapter(peer.url, surface_complete=True)
        (finding,) = made.look_up(query, boottime() + 10)
        told = made.introspect(boottime() + 10)

    assert finding.verdict == "inconclusive"
    assert (told.identity, told.why) == ("", "the tracker shows no such user")


def test_introspection_names_the_user_that_the_tracker_shows() -> None:
    with Peer(tracker([])) as peer:
        assert adapter(peer.url).introspect(boottime() + 10).identity == "agent"
    with Peer(answering(status(401), effect=False)) as peer:
        assert adapter(peer.url).introspect(boottime() + 10).refused
