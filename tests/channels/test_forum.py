"""A forum where no server is needed: topics' names, odd answers, and pages that say little."""

from datetime import UTC, datetime
from typing import Any

import pytest

from delivery.channels.contract import Envelope, Query
from delivery.channels.forum import ForumAdapter
from delivery.channels.forum_pages import read_page
from delivery.channels.forum_sessions import Account, sessions
from delivery.channels.secrets import fingerprint
from delivery.errors import BadDestinationError
from delivery.outcomes import Accepted, Ambiguous, NotSent, Outcome, Refused
from delivery.timing import boottime
from tests.channels.notebook import Notebook
from tests.channels.peers import Peer, Script, Talk, answering, status

PASSWORD = "a-password-of-nobody"


def adapter(url: str = "http://127.0.0.1:9", **settings: Any) -> ForumAdapter:
    given = {"base_url": url, "allow_private": True, "username": "agent", **settings}
    return ForumAdapter(given, lambda: PASSWORD)


def submit(answer: bytes, *, signed_in: bool = True) -> tuple[Outcome, Peer]:
    with Peer(answering(answer)) as peer:
        if signed_in:
            sessions.put(Account(peer.url, "agent", fingerprint(PASSWORD)), "a1", "b2")
        made = adapter(peer.url)
        rendered = made.render(Envelope("x", "12", 1, 1, "dlvq2mx9kabcdefghijkl"))
        return made.submit(rendered, "", Notebook()), peer


@pytest.mark.parametrize(("given", "one_spelling"), [("12", "12"), (" 7 ", "7")])
def test_a_topic_has_one_spelling(given: str, one_spelling: str) -> None:
    assert adapter().normalise(given) == one_spelling


@pytest.mark.parametrize("given", ["", "none", "0", "012", "-1", "1/../2", "12?next=x", "١٢"])
def test_what_numbers_no_topic_is_refused(given: str) -> None:
    with pytest.raises(BadDestinationError, match="destination"):
        adapter().normalise(given)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (status(200, body="<html>maintenance</html>"), Ambiguous),
        (status(200, body='<textarea name="comment">x</textarea>'), Refused),
        (status(302, "Location: /"), Ambiguous),
        (status(302, "Location: /comment/7/find/"), Ambiguous),
        (status(302), Ambiguous),
        (status(302, "Location: /user/login/?next=/"), NotSent),
        (status(303, "Location: /comment/7/find/"), Ambiguous),
        (status(403), Refused),
        (status(404), Refused),
        (status(429), Ambiguous),
        (status(500), Ambiguous),
    ],
)
def test_an_answer_proves_what_was_seen_and_no_more(answer: bytes, kind: type[Outcome]) -> None:
    outcome, peer = submit(answer)

    assert isinstance(outcome, kind), outcome
    posts = [request for request in peer.requests if request.startswith(b"POST ")]
    assert len(posts) == 1


def test_without_a_reason_or_a_session_it_may_be_tried_again() -> None:
    unexplained, _ = submit(status(200, body='<textarea name="comment">x</textarea>'))
    not_taken, _ = submit(status(403))

    assert isinstance(unexplained, Refused)
    assert isinstance(not_taken, Refused)
    assert not unexplained.permanent
    assert not not_taken.permanent


@pytest.mark.parametrize("code", [200, 302, 500])
def test_who_cannot_sign_in_posts_nothing_but_name_and_password(code: int) -> None:
    outcome, peer = submit(status(code, "Set-Cookie: csrftoken=c3"), signed_in=False)

    assert isinstance(outcome, NotSent)
    assert all(b" /user/login/ " in request for request in peer.requests)
    assert PASSWORD not in repr(outcome)


def test_what_a_writer_puts_into_a_comment_is_no_part_of_the_page() -> None:
    page = read_page(
        '<a href="/user/1/me/"></a><a href="/user/logout/?next=/"></a>'
        '<div class="comments_list__comment js-comment" data-pk="7">'
        '<a class="comment__info__username__link" href="/user/2/you/">you</a>'
        '<div class="comment__text js-comment-text"><div class="js-comment" data-pk="8">'
        '<a class="comment__info__username__link" href="/user/1/me/">me</a> forged</div> said</div>'
        '<ul class="errorlist"><li>No.</li></ul></div>'
        '<div class="comments_list__item js-comment" data-pk="9"></div>'
        '<a href="?page=3">3</a><a href="/elsewhere?page=9">9</a>'
    )

    assert page.reader == "/user/1/me/"
    assert [(one.id, one.author, one.removed) for one in page.comments] == [
        ("7", "/user/2/you/", False),
        ("9", "", True),
    ]
    assert page.comments[0].text.split() == ["me", "forged", "said"]
    assert (page.errors, page.last, page.has_form) == (["No."], 3, False)


ME = '<a href="/user/1/agent/"></a><a href="/user/logout/"></a>'
COMMENT = (
    '<div class="comments_list__comment js-comment" data-pk="{id}">'
    '<a class="comment__info__username__link" href="/user/1/agent/">agent</a>'
    '<div class="comment__text js-comment-text">{text}</div></div>'
)
OLDER = f"{ME}{COMMENT.format(id=6, text='chatter')}<a href='?page=2'>2</a>"
NEWER = f"{ME}{COMMENT.format(id=7, text='x ref dlvq2mx9kabcdefghijkl')}<a href='?page=1'>1</a>"
SHOWN = {
    b"GET /user/login/": status(200, "Set-Cookie: csrftoken=c3; Path=/"),
    b"POST /user/login/": status(302, "Location: /user/", "Set-Cookie: sessionid=s4; Path=/"),
    b"POST /comment/12/publish/": status(302, "Location: /comment/7/find/"),
    b"GET /comment/7/find/": status(302, "Location: /topic/12/t/?page=2#c7"),
    b"GET /topic/12/": status(301, "Location: /topic/12/t/"),
    b"GET /topic/12/t/": status(200, body=OLDER),
    b"GET /topic/12/t/?page=1": status(200, body=OLDER),
    b"GET /topic/12/t/?page=2": status(200, body=NEWER),
    b"GET /": status(200, body=ME),
}


def forum(**other: bytes) -> Script:
    """A forum with a topic of two pages; `other` replaces the answer to a path that ends so."""

    def script(talk: Talk) -> None:
        while request := talk.read_request():
            asked = request.partition(b" HTTP")[0]
            talk.send(next((a for n, a in other.items() if n.encode() in asked), SHOWN[asked]))

    return script


def look(peer: Peer, recognizer: str) -> Any:
    query = Query("id", "", recognizer, "12", "", datetime.now(UTC))
    (finding,) = adapter(peer.url, surface_complete=True).look_up(query, boottime() + 10)
    return finding


def test_it_signs_in_posts_once_and_reads_the_comment_that_it_is_led_to() -> None:
    with Peer(forum()) as peer:
        made = adapter(peer.url)
        rendered = made.render(Envelope("x", "12", 1, 1, "dlvq2mx9kabcdefghijkl"))
        outcome = made.submit(rendered, "", Notebook())

    assert isinstance(outcome, Accepted)
    assert outcome.provider_message_id == "7"
    (posted,) = [one for one in peer.requests if one.startswith(b"POST /comment/")]
    assert b"Cookie: csrftoken=c3; sessionid=s4" in posted


def test_a_comment_that_is_not_ours_is_no_acceptance() -> None:
    with Peer(forum()) as peer:
        made = adapter(peer.url)
        rendered = made.render(Envelope("x", "12", 1, 1, "dlvanother9kabcdefghij"))
        outcome = made.submit(rendered, "", Notebook())

    assert isinstance(outcome, Ambiguous)
    assert "not ours" in outcome.why


def test_a_topic_is_read_from_its_last_page_to_its_first() -> None:
    with Peer(forum()) as peer:
        found, absent = look(peer, "dlvq2mx9kabcdefghijkl"), look(peer, "dlvanother9kabcdefghij")

    assert (found.verdict, found.provider_message_id, found.pages) == ("found", "7", 2)
    assert (absent.verdict, absent.pages) == ("absent", 2)


@pytest.mark.parametrize(
    "other",
    [
        {"topic": status(404)},
        {"topic": status(301, "Location: /topic/12/")},
        {"page": status(200, body="nobody is signed in here")},
        {"login": status(200, body='<ul class="errorlist"><li>No.</li></ul>')},
    ],
    ids=["missing", "leads on and on", "signed out", "not let in"],
)
def test_a_topic_that_cannot_be_read_proves_nothing(other: dict[str, bytes]) -> None:
    with Peer(forum(**other)) as peer:
        finding = look(peer, "dlvq2mx9kabcdefghijkl")

    assert finding.verdict == "inconclusive"


def test_introspection_names_the_profile_of_who_is_signed_in() -> None:
    with Peer(forum()) as peer:
        assert adapter(peer.url).introspect(boottime() + 10).identity == "/user/1/agent/"
    with Peer(forum(login=status(200, body='<ul class="errorlist"><li>No.</li></ul>'))) as peer:
        assert adapter(peer.url).introspect(boottime() + 10).refused
