"""A tracker, met in person: Roundup makes an address for one post, and finds a word in a title."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests

from delivery.channels.contract import Envelope, Finding, Query, Rendered
from delivery.channels.roundup import RoundupAdapter
from delivery.outcomes import Accepted, Ambiguous, NotSent, Outcome, Refused, Unauthorised
from delivery.timing import boottime
from tests.channels.notebook import Notebook
from tests.real.ledger import channel_to, later, send
from tests.real.replies import Loss, losing_replies
from tests.real.roundup import AGENT, PASSWORD, STRANGER, Roundup

TOKENS = iter(f"k7q2mx9kvb3r5t8w{number:05d}"[:24] for number in range(1, 99_999))
TAKEN = b"201 Created"


class Lab:
    """One adapter against the tracker, and one issue."""

    def __init__(self, server: Roundup) -> None:
        self.server = server
        self.token = next(TOKENS)
        self.began = datetime.now(UTC)

    def adapter(self, secret: str = PASSWORD, **settings: Any) -> RoundupAdapter:
        given = {"base_url": self.server.url, "username": AGENT, "allow_private": True}
        return RoundupAdapter({**given, **settings}, lambda: secret)

    def rendered(self, content: Any = "All quiet", to: str = "issue") -> Rendered:
        return self.adapter().render(Envelope(content, to, 1, 1, self.token))

    def send(
        self, content: Any = "All quiet", *, to: str = "issue", seconds: float = 20, **made: Any
    ) -> Outcome:
        return self.adapter(**made).submit(self.rendered(content, to), "", Notebook(seconds))

    def look(self, **made: Any) -> Finding:
        query = Query("id", "", self.token, "issue", "", self.began - timedelta(seconds=1))
        (finding,) = self.adapter(**made).look_up(query, boottime() + 20)
        return finding

    @property
    def issues(self) -> list[str]:
        return self.server.issues(self.token)


@pytest.fixture
def lab(tracker: Roundup) -> Lab:
    return Lab(tracker)


@pytest.mark.parametrize("content", ["All quiet", "Ça va? “quoted” ✅ & <b>no HTML</b> %s [x]"])
def test_an_issue_is_made_once_and_found_by_its_title(lab: Lab, content: str) -> None:
    outcome = lab.send(content)

    assert isinstance(outcome, Accepted), outcome
    assert lab.issues == [outcome.provider_message_id]
    finding = lab.look()
    assert (finding.verdict, finding.provider_message_id) == ("found", lab.issues[0])


@pytest.mark.parametrize("loss", ["reset", "close", "hang"])
def test_a_lost_reply_is_ambiguous_and_the_tracker_tells(lab: Lab, loss: Loss) -> None:
    with losing_replies(lab.server.port, loss, TAKEN) as port:
        line = f"http://127.0.0.1:{port}/lab"
        outcome = lab.send(seconds=4, base_url=line, web_url=lab.server.url)

    assert isinstance(outcome, Ambiguous)
    assert len(lab.issues) == 1
    assert lab.look().verdict == "found"


def test_an_address_takes_one_post_and_does_not_say_why_it_takes_no_other(lab: Lab) -> None:
    adapter = lab.adapter()
    token = adapter._token("issue", boottime() + 20)
    assert isinstance(token, str)
    posted = [
        requests.post(
            lab.server.url + f"/rest/data/issue/@poe/{token}",
            lab.rendered().body,
            headers={"Content-Type": "application/json", **adapter.headers(PASSWORD)},
            timeout=30,
        )
        for _ in range(2)
    ]

    assert [one.status_code for one in posted] == [201, 400]
    assert "not valid" in posted[1].text
    assert len(lab.issues) == 1


def test_what_a_line_posts_a_second_time_is_ambiguous_and_found(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = lab.adapter()._token("issue", boottime() + 20)
    lab.server.call("POST", f"issue/@poe/{used}", json={"title": f"All quiet [ref {lab.token}]"})
    monkeypatch.setattr(RoundupAdapter, "_token", lambda *_: used)

    outcome = lab.send()

    assert isinstance(outcome, Ambiguous), outcome
    assert "used or has expired" in outcome.why
    assert len(lab.issues) == 1
    assert lab.look().verdict == "found"


def test_a_class_that_is_not_there_is_a_refusal(lab: Lab) -> None:
    outcome = lab.send(to="nothing")

    assert isinstance(outcome, Refused), outcome
    assert lab.issues == []


def test_what_the_user_may_not_create_is_a_refusal(lab: Lab) -> None:
    outcome = lab.send(to="keyword")

    assert isinstance(outcome, Refused), outcome
    assert lab.issues == []


def test_a_wrong_password_posts_nothing_and_is_not_quoted(lab: Lab) -> None:
    outcome = lab.send(secret="wrong-password-wrong")

    assert isinstance(outcome, Unauthorised)
    assert "wrong-password" not in repr(outcome)
    assert lab.issues == []


def test_a_tracker_that_calls_itself_otherwise_gives_no_address(lab: Lab) -> None:
    outcome = lab.send(web_url="http://elsewhere.test/lab")

    assert isinstance(outcome, NotSent)
    assert lab.issues == []


def test_two_issues_are_a_finding_of_their_own(lab: Lab) -> None:
    lab.send()
    lab.send()

    assert len(lab.issues) == 2
    assert lab.look().verdict == "found_many"


def test_our_mark_in_somebody_elses_issue_is_no_match(lab: Lab) -> None:
    lab.send(username=STRANGER)

    finding = lab.look(surface_complete=True)

    assert finding.verdict == "inconclusive"
    assert "carries the recognizer but is by" in finding.why


def test_what_is_not_there_is_absent_only_if_the_tracker_is_declared_complete(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("delivery.channels.roundup.PAGE", 5)
    for number in range(6):  # so that the list has two pages at least
        lab.server.call("POST", "issue", json={"title": f"chatter {number}"})

    absent = lab.look(surface_complete=True)

    assert absent.verdict == "absent"
    assert absent.why.startswith("all of it was read")
    assert absent.pages >= 3
    assert lab.look().verdict == "inconclusive"


def test_a_tracker_that_cannot_be_read_proves_nothing(lab: Lab) -> None:
    lab.send()

    assert lab.look(surface_complete=True, secret="no").verdict == "inconclusive"


def test_introspection_names_the_user(lab: Lab) -> None:
    right = lab.adapter().introspect(boottime() + 20)
    wrong = lab.adapter("no").introspect(boottime() + 20)

    assert (right.identity, right.why) == (AGENT, "")
    assert right.clock is not None
    assert (wrong.identity, wrong.refused) == ("", True)


@pytest.mark.django_db(transaction=True)
def test_the_ledger_settles_a_lost_reply_by_the_list_without_a_second_issue(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    with losing_replies(lab.server.port, "reset", TAKEN, times=1) as port:
        line, own = f"http://127.0.0.1:{port}/lab", lab.server.url
        channel_to(monkeypatch, "roundup", PASSWORD, base_url=line, web_url=own, username=AGENT)
        row = send("issue")
        lab.token = row.recognizer
        before = row.status, len(lab.issues)

        settled = later(row)

    assert before == ("unknown", 1)
    assert settled == ("delivered", ["ambiguous"])
    assert row.evidence.get().provider_message_id == lab.issues[0]
    assert len(lab.issues) == 1
