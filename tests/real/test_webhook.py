"""A webhook behind nginx, met in person: what its own answers prove, and what they do not."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from delivery.channels.contract import Envelope
from delivery.channels.webhook import WebhookAdapter
from delivery.outcomes import Accepted, Ambiguous, Outcome, Refused
from tests.channels.notebook import Notebook
from tests.channels.peers import CERTIFICATES, OK, Peer, Script, Talk, answering
from tests.real.ledger import channel_to, later, send
from tests.real.nginx import Nginx, nginx

KEY = "0f8fad5b-d9cb-469f-a165-70867728950e"
TOKEN = "dlvq2mx9kabcdefghijkl"


def act_and_hang(talk: Talk) -> None:
    talk.read_request()
    talk.act()
    talk.hang()


def act_and_reset(talk: Talk) -> None:
    talk.read_request()
    talk.act()
    talk.reset()


def only_reset(talk: Talk) -> None:
    talk.read_request()
    talk.reset()


def act_and_cut_the_body(talk: Talk) -> None:
    talk.read_request()
    talk.act()
    talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
    talk.close()


class Lab:
    """Applications that follow a script, and an nginx in front of them."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self.applications: list[Peer] = []
        self.server = Nginx(0, 0)

    def start(self, *scripts: Script, rules: str = "") -> None:
        self.applications = [self._stack.enter_context(Peer(one)) for one in scripts]
        self.start_before([one.port for one in self.applications], rules)

    def start_before(self, ports: list[int], rules: str = "") -> None:
        self.server = self._stack.enter_context(nginx(self._folder, ports, rules))

    @property
    def effects(self) -> int:
        return sum(one.effects for one in self.applications)

    @property
    def requests(self) -> list[bytes]:
        return [request for one in self.applications for request in one.requests]

    def send(
        self, content: Any = "All quiet.", *, url: str = "", seconds: float = 10.0, **settings: Any
    ) -> Outcome:
        given = {"allow_private": True, "allow_http": True, **settings}
        adapter = WebhookAdapter(given, lambda: "")
        to = adapter.normalise(url or f"http://127.0.0.1:{self.server.port}/hook")
        rendered = adapter.render(Envelope(content, to, 1, 1, TOKEN))
        return adapter.submit(rendered, KEY, Notebook(seconds))


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with ExitStack() as stack:
        yield Lab(tmp_path, stack)


def test_what_passes_through_arrives_once_with_key_and_recognizer(lab: Lab) -> None:
    lab.start(answering(OK))

    outcome = lab.send()

    assert isinstance(outcome, Accepted)
    assert outcome.provider_message_id == "m7"
    (request,) = lab.requests
    head, _, body = request.partition(b"\r\n\r\n")
    assert b"idempotency-key: %s" % KEY.encode() in head.lower()
    assert b"counterfoil-ref: %s" % TOKEN.encode() in head.lower()
    assert json.loads(body)["ref"] == TOKEN


def test_nginx_ends_tls_and_passes_the_same_bytes_on(lab: Lab) -> None:
    lab.start(answering(OK))
    plain = lab.send()
    secured = lab.send(
        url=f"https://localhost:{lab.server.tls_port}/hook", ca_file=str(CERTIFICATES / "ca.pem")
    )

    assert isinstance(plain, Accepted)
    assert isinstance(secured, Accepted)
    assert len({request.partition(b"\r\n\r\n")[2] for request in lab.requests}) == 1


@pytest.mark.parametrize(
    ("script", "said", "effects"),
    [(act_and_hang, "504", 1), (act_and_reset, "502", 1), (only_reset, "502", 0)],
    ids=["504 with an effect", "502 with an effect", "502 without one"],
)
def test_an_error_of_nginx_itself_proves_nothing(
    lab: Lab, script: Callable[[Talk], None], said: str, effects: int
) -> None:
    lab.start(script)

    outcome = lab.send()

    assert isinstance(outcome, Ambiguous)
    assert outcome.response.startswith(said)
    assert "nginx" in outcome.response
    assert len(lab.requests) == 1
    assert lab.effects == effects


def test_an_application_that_is_down_looks_like_one_that_has_acted(lab: Lab) -> None:
    with Peer(answering(OK)) as gone:
        port = gone.port
    lab.start_before([port])

    outcome = lab.send()

    assert isinstance(outcome, Ambiguous)
    assert outcome.response.startswith("502")


def test_a_body_that_is_too_long_for_nginx_never_reaches_the_application(lab: Lab) -> None:
    lab.start(answering(OK), rules="client_max_body_size 1k;")

    outcome = lab.send("x" * 300_000)

    assert isinstance(outcome, Refused)
    assert outcome.response.startswith("413")
    assert lab.requests == []


def test_a_rate_limit_of_nginx_is_a_503_that_names_no_time(lab: Lab) -> None:
    lab.start(answering(OK), rules="limit_req zone=few;")

    first, second = lab.send(), lab.send()

    assert isinstance(first, Accepted)
    assert isinstance(second, Ambiguous)
    assert second.response.startswith("503")
    assert "Retry-After" not in second.response
    assert lab.effects == 1


def test_nginx_does_not_submit_again_unless_it_is_told_to(lab: Lab) -> None:
    lab.start(act_and_reset, act_and_reset)

    assert isinstance(lab.send(), Ambiguous)
    assert lab.effects == 1


def test_one_submission_that_nginx_makes_two_of_carries_one_key(lab: Lab) -> None:
    lab.start(
        act_and_reset, act_and_reset, rules="proxy_next_upstream error timeout non_idempotent;"
    )

    outcome = lab.send()

    assert isinstance(outcome, Ambiguous)
    assert lab.effects == 2
    assert all(KEY.encode() in request for request in lab.requests)


def test_a_status_line_is_believed_though_the_body_is_cut(lab: Lab) -> None:
    lab.start(act_and_cut_the_body)

    outcome = lab.send()

    assert isinstance(outcome, Accepted)
    assert outcome.provider_message_id == ""
    assert lab.effects == 1


def test_giving_up_before_nginx_does_is_ambiguous(lab: Lab) -> None:
    lab.start(act_and_hang, rules="proxy_read_timeout 30s;")

    outcome = lab.send(seconds=1.5)

    assert isinstance(outcome, Ambiguous)
    assert lab.effects == 1


@pytest.mark.parametrize(("redirect", "kind"), [("ambiguous", Ambiguous), ("refused", Refused)])
def test_a_redirect_is_not_followed_and_means_what_is_declared(
    lab: Lab, redirect: str, kind: type[Outcome]
) -> None:
    lab.start(answering(OK), rules="return 307 http://127.0.0.1:$server_port$request_uri;")

    assert isinstance(lab.send(redirect=redirect), kind)
    assert lab.requests == []


@pytest.mark.django_db(transaction=True)
def test_the_ledger_settles_a_504_by_the_same_key_without_a_second_effect(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def once(talk: Talk) -> None:
        """Acts and is too slow for nginx; asked again with the same key, it remembers."""
        if talk.read_request() and lab.effects:
            talk.send(OK)
        else:
            talk.act()
            talk.hang()

    lab.start(once, rules="proxy_read_timeout 1s;")
    channel_to(monkeypatch, "webhook", "", allow_http=True, dedupe_window_s=3600)
    row = send(f"http://127.0.0.1:{lab.server.port}/hook")
    before = row.status, lab.effects

    settled = later(row)

    assert before == ("unknown", 1)
    assert settled == ("delivered", ["ambiguous", "accepted"])
    assert lab.effects == 1
    assert len({request.partition(b"\r\n\r\n")[2] for request in lab.requests}) == 1
