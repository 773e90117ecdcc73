"""A forum, met in person: django-spirit takes forms and shows pages, and nothing else."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from delivery.channels.contract import Envelope, Finding, Query
from delivery.channels.forum import ForumAdapter
from delivery.channels.forum_sessions import Account, sessions
from delivery.channels.secrets import fingerprint
from delivery.outcomes import Accepted, Ambiguous, Deferred, NotSent, Outcome, Refused, Unauthorised
from delivery.timing import boottime
from tests.channels.notebook import Notebook
from tests.real.ledger import channel_to, later, send
from tests.real.replies import Loss, losing_replies
from tests.real.spirit import PASSWORD, PER_PAGE, Spirit

TOKENS = iter(f"k7q2mx9kvb3r5t8w{number:05d}"[:24] for number in range(1, 99_999))
TAKEN = b"302 Found"
_COMMENTS = "SELECT id FROM spirit_comment_comment WHERE comment LIKE ? ORDER BY id"


class Lab:
    """A topic, our user, and one comment."""

    def __init__(self, server: Spirit) -> None:
        self.server = server
        self.user, self.topic = server.take_user()
        self.token = next(TOKENS)
        self.began = datetime.now(UTC)

    def adapter(self, user: str = "", secret: str = PASSWORD, **settings: Any) -> ForumAdapter:
        given = {
            "base_url": self.server.url,
            "username": user or self.user,
            "allow_private": True,
            **settings,
        }
        return ForumAdapter(given, lambda: secret)

    def send(
        self, content: Any = "All quiet.", *, seconds: float = 20, topic: int = 0, **made: Any
    ) -> Outcome:
        adapter = self.adapter(**made)
        to = str(topic or self.topic)
        rendered = adapter.render(Envelope(content, to, 1, 1, self.token))
        return adapter.submit(rendered, "", Notebook(seconds))

    def look(self, **made: Any) -> Finding:
        query = Query("id", "", self.token, str(self.topic), "", self.began - timedelta(minutes=5))
        (finding,) = self.adapter(**made).look_up(query, boottime() + 20)
        return finding

    @property
    def comments(self) -> list[str]:
        """The comments with our token that the forum keeps."""
        return [str(one[0]) for one in self.server.ask(_COMMENTS, f"%{self.token}%")]

    def forget_the_session(self) -> None:
        self.server.ask("DELETE FROM django_session")

    def lose_the_comment(self) -> None:
        """What a process that dies between two of its statements leaves: a hash and no comment."""
        self.server.ask("DELETE FROM spirit_comment_comment WHERE id = ?", self.comments[0])


@pytest.fixture
def lab(forum: Spirit) -> Lab:
    forum.forget_limits()
    return Lab(forum)


def test_a_comment_is_accepted_once_and_found_on_the_page(lab: Lab) -> None:
    outcome = lab.send()

    assert isinstance(outcome, Accepted), outcome
    assert lab.comments == [outcome.provider_message_id]
    finding = lab.look()
    assert (finding.verdict, finding.provider_message_id) == ("found", lab.comments[0])


@pytest.mark.parametrize(
    "content",
    [
        "Ça va? “quoted” ✅ & <b>no HTML</b> <!-- nor a comment --> @user1",
        "```\na block of code that nobody ends\n",
        "<div class='js-comment' data-pk='1'><a href='/user/9/me/'>",
        "* a list\n* of *two*\n\n> and a quote  ",
        "[link]: http://example.com/x_y_z\n| a | table |\n|---|---|\n| 1 | 2 |",
    ],
    ids=["no ASCII", "code", "a page's own HTML", "list and quote", "link and table"],
)
def test_whatever_a_comment_says_its_recognizer_is_found(lab: Lab, content: str) -> None:
    assert isinstance(lab.send(content), Accepted)
    assert len(lab.comments) == 1
    assert lab.look().verdict == "found"


@pytest.mark.parametrize("loss", ["reset", "close", "hang"])
def test_a_lost_reply_is_ambiguous_and_the_topic_tells(lab: Lab, loss: Loss) -> None:
    lab.look()  # signed in, so that the only 302 is the comment's
    home = lab.server.url
    session = sessions.get(Account(home, lab.user, fingerprint(PASSWORD)))
    assert session is not None
    with losing_replies(lab.server.port, loss, TAKEN) as port:
        line = f"http://127.0.0.1:{port}"
        sessions.put(Account(line, lab.user, fingerprint(PASSWORD)), session.id, session.csrf)
        outcome = lab.send(seconds=3, base_url=line)

    assert isinstance(outcome, Ambiguous)
    assert len(lab.comments) == 1
    assert lab.look().verdict == "found"


def test_a_second_comment_within_ten_seconds_is_deferred(lab: Lab) -> None:
    lab.send()
    lab.token = next(TOKENS)

    outcome = lab.send()

    assert isinstance(outcome, Deferred)
    assert "wait" in outcome.why
    assert lab.comments == []


def test_a_form_that_comes_back_with_a_complaint_is_a_refusal(lab: Lab) -> None:
    outcome = lab.send("x" * 4000)

    assert isinstance(outcome, Refused)
    assert outcome.permanent
    assert "3000" in outcome.why
    assert lab.comments == []


def test_a_topic_that_is_not_open_is_a_refusal(lab: Lab) -> None:
    lab.server.ask("UPDATE spirit_topic_topic SET is_closed = 1 WHERE id = ?", lab.topic)

    closed, missing = lab.send(), lab.send(topic=999_999)

    assert isinstance(closed, Refused)
    assert isinstance(missing, Refused)
    assert lab.comments == []


def test_a_forum_that_takes_no_more_sign_ins_gets_nothing(lab: Lab) -> None:
    outcomes = [lab.send(secret="wrong-password-wrong") for _ in range(8)]

    assert [type(one) for one in outcomes] == [Unauthorised] * 5 + [NotSent] * 3
    assert isinstance(lab.send(), NotSent)
    assert lab.comments == []


def test_a_wrong_password_posts_nothing_and_is_not_quoted(lab: Lab) -> None:
    outcome = lab.send(secret="wrong-password-wrong")

    assert isinstance(outcome, Unauthorised)
    assert "wrong-password" not in repr(outcome)
    assert lab.comments == []


def test_a_session_that_has_ended_posts_nothing_and_the_next_attempt_signs_in(lab: Lab) -> None:
    lab.look()
    lab.forget_the_session()

    first, second = lab.send(), lab.send()

    assert isinstance(first, NotSent)
    assert isinstance(second, Accepted)
    assert len(lab.comments) == 1


def test_a_302_for_a_double_post_is_not_taken_for_acceptance(lab: Lab) -> None:
    stranger, _ = lab.server.take_user()
    lab.send()
    lab.server.write_comments(stranger, lab.topic, 1)
    lab.lose_the_comment()
    lab.server.forget_limits()

    outcome = lab.send()

    assert isinstance(outcome, Ambiguous), outcome
    assert "not ours" in outcome.why
    assert lab.comments == []


def test_two_comments_are_a_finding_of_their_own(lab: Lab) -> None:
    lab.send()
    lab.server.write_comments(lab.user, lab.topic, 1, f"again, ref {lab.token}")

    assert lab.look().verdict == "found_many"


def test_a_comment_beyond_the_newest_page_is_found(lab: Lab) -> None:
    stranger, _ = lab.server.take_user()
    lab.send()
    lab.server.write_comments(stranger, lab.topic, 2 * PER_PAGE)

    finding = lab.look()

    assert finding.verdict == "found"
    assert finding.pages == 3
    assert lab.look(max_pages=2).verdict == "inconclusive"


def test_what_is_not_there_is_absent_only_if_the_topic_is_declared_complete(lab: Lab) -> None:
    lab.server.write_comments(lab.user, lab.topic, 2 * PER_PAGE + 1)

    absent = lab.look(surface_complete=True)

    assert (absent.verdict, absent.pages) == ("absent", 3)
    assert "a control message was seen" in absent.why
    assert lab.look().verdict == "inconclusive"


def test_a_comment_that_was_removed_is_not_taken_for_absent(lab: Lab) -> None:
    lab.server.write_comments(lab.user, lab.topic, 1)
    lab.send()
    lab.server.ask("UPDATE spirit_comment_comment SET is_removed = 1 WHERE id = ?", lab.comments[0])

    finding = lab.look(surface_complete=True)

    assert finding.verdict == "inconclusive"
    assert "unremoved" in finding.why


def test_our_mark_in_somebody_elses_comment_is_no_match(lab: Lab) -> None:
    stranger, _ = lab.server.take_user()
    assert isinstance(lab.send(user=stranger), Accepted)

    finding = lab.look(surface_complete=True)

    assert finding.verdict == "inconclusive"
    assert "carries the recognizer but is by" in finding.why


def test_introspection_names_who_is_signed_in(lab: Lab) -> None:
    right = lab.adapter().introspect(boottime() + 20)
    wrong = lab.adapter(secret="no").introspect(boottime() + 20)

    assert lab.user in right.identity
    assert (wrong.identity, wrong.refused) == ("", True)


@pytest.mark.django_db(transaction=True)
def test_the_ledger_settles_a_lost_reply_by_the_topic_without_a_second_comment(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    with losing_replies(lab.server.port, "reset", b"Location: /comment/", times=1) as port:
        url = f"http://127.0.0.1:{port}"
        channel_to(monkeypatch, "forum", PASSWORD, base_url=url, username=lab.user)
        row = send(str(lab.topic))
        lab.token = row.recognizer
        before = row.status, len(lab.comments)

        settled = later(row)

    assert before == ("unknown", 1)
    assert settled == ("delivered", ["ambiguous"])
    assert row.evidence.get().method == "surface_scan"
    assert len(lab.comments) == 1
