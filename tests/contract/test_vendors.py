"""Adapters that are known by contract, each against the same fake with its vendor's semantics."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from delivery.channels.api import ApiAdapter
from delivery.channels.contract import Envelope, Finding, Query
from delivery.errors import BadDestinationError
from delivery.outcomes import (
    Accepted,
    Ambiguous,
    Deferred,
    InFlight,
    NotSent,
    Outcome,
    Refused,
    Unauthorised,
)
from delivery.timing import boottime
from ledgers.identity import idempotency_key
from tests.channels.notebook import Notebook
from tests.contract import vendors
from tests.contract.vendor import SECRET, Answer
from tests.contract.ways import WAYS, Way

TOKEN = "dlvq2mx9kabcdefghijkl23"
TEXT = "Done & <b>well</b>: see https://example.com/a_b “now”\n\n*really*  "


SEARCHABLE = ["slack", "discord", "github", "discourse", "twilio"]
KEYED = ["discord", "resend", "pagerduty"]


class Lab:
    """A vendor that runs, and its adapter."""

    def __init__(self, name: str) -> None:
        self.way = WAYS[name]
        self.vendor = self.way.vendor()
        self.began = datetime.now(UTC)

    def adapter(self, **settings: Any) -> ApiAdapter:
        given = {"base_url": self.vendor.url, "allow_private": True, **self.way.settings}
        return self.way.adapter({**given, **settings}, lambda: self.way.secret)

    @property
    def key(self) -> str:
        form = self.adapter().declare().key
        identity = uuid.UUID("00000000-0000-4000-8000-000000000001")
        return idempotency_key(
            identity, form.form if form else "uuid", form.max_length if form else 255
        )

    def send(
        self, content: Any = TEXT, marker: str = "", recognizer: str = TOKEN, **settings: Any
    ) -> Outcome:
        adapter = self.adapter(**settings)
        envelope = Envelope(content, self.way.to, 1, 1, recognizer, marker, self.key)
        return adapter.submit(adapter.render(envelope), self.key, Notebook())

    def look(self, **settings: Any) -> Finding:
        since = self.began - timedelta(minutes=5)
        query = Query("id", self.key, TOKEN, self.way.to, "", since)
        (finding,) = self.adapter(**settings).look_up(query, boottime() + 20)
        return finding


@pytest.fixture
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    made = Lab(request.param)
    with made.vendor:
        yield made


def each(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("lab", names or list(WAYS), indirect=True)


@each()
def test_what_is_accepted_has_one_effect_and_names_an_id(lab: Lab) -> None:
    outcome = lab.send()

    assert isinstance(outcome, Accepted)
    assert outcome.provider_message_id
    assert lab.vendor.effects == len(lab.vendor.submissions) == 1
    assert TOKEN in lab.vendor.submissions[0].body.decode()


@each()
def test_every_attempt_sends_the_same_bytes(lab: Lab) -> None:
    lab.vendor.instead = Answer(500, {})
    lab.send()
    lab.send()

    first, second = lab.vendor.submissions
    assert first.body == second.body
    assert first.path == second.path
    assert {n: v for n, v in first.headers.items() if "key" in n} == {
        n: v for n, v in second.headers.items() if "key" in n
    }


@each()
def test_a_lost_answer_is_ambiguous(lab: Lab) -> None:
    lab.vendor.lose_answers = True

    assert isinstance(lab.send(), Ambiguous)
    assert lab.vendor.effects == len(lab.vendor.submissions) == 1


@each(*SEARCHABLE)
def test_after_a_lost_answer_the_message_is_found(lab: Lab) -> None:
    lab.vendor.lose_answers = True
    lab.send()

    finding = lab.look()

    assert finding.verdict == "found"
    assert finding.provider_message_id
    assert lab.vendor.effects == 1


@each(*SEARCHABLE)
def test_the_message_is_found_beyond_the_first_page(lab: Lab) -> None:
    lab.send()
    for number in range(230):
        lab.vendor.foreign(lab.way.to, f"chatter {number}", "")

    finding = lab.look()

    assert finding.verdict == "found"
    assert finding.pages >= 2


@each(*SEARCHABLE)
def test_two_copies_are_a_finding_of_their_own(lab: Lab) -> None:
    lab.send()
    lab.send()

    assert lab.look().verdict == "found_many"


@each(*SEARCHABLE)
def test_our_token_under_a_foreign_author_is_no_match(lab: Lab) -> None:
    lab.vendor.foreign(lab.way.to, "chatter", "")
    lab.vendor.foreign(lab.way.to, f"look: ref {TOKEN}", TOKEN)

    finding = lab.look(**_complete(lab))

    assert finding.verdict == "inconclusive"
    assert "carries the recognizer but is by" in finding.why


@each(*SEARCHABLE)
def test_a_later_message_of_ours_that_quotes_it_is_no_match(lab: Lab) -> None:
    shown = f"> done\n> ref {TOKEN}\n<!-- counterfoil {TOKEN} -->\n\nIt was sent."
    lab.send(shown, recognizer="dlvzzzx9kabcdefghijkl23")

    finding = lab.look(**_complete(lab))

    assert finding.verdict == "inconclusive"
    assert "quotes it" in finding.why


@each("twilio")
@pytest.mark.parametrize("leads", ["@evil.test/next", ".evil.test/next", "http://evil.test/"])
def test_a_next_page_at_another_host_is_not_asked_for(
    lab: Lab, leads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Answer(200, {"messages": [], "next_page_uri": leads})
    monkeypatch.setattr(lab.vendor, "read", lambda ask: said)

    finding = lab.look()

    assert finding.verdict == "inconclusive"
    assert "is no path" in finding.why


@each(*SEARCHABLE)
def test_without_the_permission_nothing_is_concluded(lab: Lab) -> None:
    lab.vendor.foreign(lab.way.to, "chatter", "")
    lab.vendor.may_read = False

    assert lab.look(**_complete(lab)).verdict == "inconclusive"


@each("slack", "discord", "github", "discourse")
def test_what_is_not_there_is_absent_only_where_that_is_declared(lab: Lab) -> None:
    lab.vendor.foreign(lab.way.to, "chatter", "")

    assert lab.look().verdict == "inconclusive"
    assert lab.look(surface_complete=True).verdict == "absent"


@each(*SEARCHABLE)
def test_an_empty_list_proves_nothing(lab: Lab) -> None:
    assert lab.look(**_complete(lab)).verdict == "inconclusive"


@each(*SEARCHABLE)
def test_a_scan_gives_up_at_its_cap(lab: Lab) -> None:
    lab.send()
    for number in range(230):
        lab.vendor.foreign(lab.way.to, f"chatter {number}", "")

    newest_last = isinstance(lab.vendor, vendors.Github)
    finding = lab.look(max_pages=1, **_complete(lab))

    assert finding.verdict == ("found" if newest_last else "inconclusive")


@each(*KEYED)
def test_the_same_key_within_its_window_has_no_second_effect(lab: Lab) -> None:
    lab.vendor.window_s = 3600
    lab.vendor.lose_answers = True
    lab.send()
    lab.vendor.lose_answers = False

    outcome = lab.send()

    assert isinstance(outcome, Accepted)
    assert lab.vendor.effects == 1
    assert len(lab.vendor.submissions) == 2


@each("resend")
def test_resends_two_conflicts_are_told_apart(lab: Lab) -> None:
    lab.send()
    other = lab.send("another text")
    lab.vendor.in_flight = True
    running = lab.send()

    assert isinstance(other, Ambiguous)
    assert other.mismatch
    assert isinstance(running, InFlight)
    assert lab.vendor.effects == 1


@each("resend")
def test_a_conflict_of_another_name_proves_nothing(lab: Lab) -> None:
    lab.vendor.instead = Answer(409, {"name": "something_new"})

    outcome = lab.send()

    assert isinstance(outcome, Ambiguous)
    assert not outcome.mismatch


RATE_LIMITS = {
    "slack": Answer(429, {"ok": False, "error": "ratelimited"}, {"Retry-After": "7"}),
    "discord": Answer(429, {"message": "slow", "retry_after": 7.0, "global": False}),
    "telegram": Answer(429, {"ok": False, "error_code": 429, "parameters": {"retry_after": 7}}),
    "github": Answer(403, {"message": "secondary rate limit"}, {"Retry-After": "7"}),
    "discourse": Answer(429, {"errors": ["slow"], "extras": {"wait_seconds": 7}}),
    "resend": Answer(429, {"name": "rate_limit_exceeded"}, {"Retry-After": "7"}),
    "twilio": Answer(429, {"code": 20429}, {"Retry-After": "7"}),
    "pagerduty": Answer(429, {"status": "throttled"}, {"Retry-After": "7"}),
}


@each()
def test_a_rate_limit_is_waited_for_as_the_vendor_says_it(lab: Lab) -> None:
    lab.vendor.instead = RATE_LIMITS[lab.way.adapter.slug]

    outcome = lab.send()

    assert isinstance(outcome, Deferred)
    assert outcome.retry_after_s == 7


@each("github")
@pytest.mark.parametrize(
    ("headers", "message", "seconds"),
    [
        ({}, "You have exceeded a secondary rate limit. Please wait a few minutes.", 60),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1795989700"}, "API rate limit", 101),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "soon"}, "API rate limit", 60),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9" * 12}, "API rate limit", 3601),
    ],
)
def test_githubs_other_limits_are_waited_for_as_well(
    lab: Lab, headers: dict[str, str], message: str, seconds: float
) -> None:
    at = {"Date": "Sun, 29 Nov 2026 22:00:00 GMT"}
    lab.vendor.instead = Answer(403, {"message": message}, {**headers, **at})

    outcome = lab.send()

    assert isinstance(outcome, Deferred)
    assert outcome.retry_after_s == seconds


REFUSALS = {
    "slack": Answer(200, {"ok": False, "error": "channel_not_found"}),
    "discord": Answer(404, {"code": 10003, "message": "Unknown Channel"}),
    "telegram": Answer(400, {"ok": False, "error_code": 400, "description": "chat not found"}),
    "github": Answer(404, {"message": "Not Found"}),
    "discourse": Answer(403, {"errors": ["not allowed"]}),
    "resend": Answer(422, {"name": "validation_error"}),
    "twilio": Answer(400, {"code": 21211, "message": "The 'To' number is not valid"}),
    "pagerduty": Answer(400, {"status": "invalid event"}),
}


@each()
def test_a_refusal_is_known_where_the_vendor_answers_before_acting(lab: Lab) -> None:
    lab.vendor.instead = REFUSALS[lab.way.adapter.slug]

    assert isinstance(lab.send(), Refused)
    assert lab.vendor.effects == 0


UNCLEAR = [
    *[(name, Answer(code, {})) for name in WAYS for code in (302, 408, 425, 500, 502, 503, 504)],
    ("slack", Answer(200, {"ok": False, "error": "internal_error"})),
    ("slack", Answer(200, {"ok": False, "error": "fatal_error"})),
    ("slack", Answer(200, {"ok": False, "error": "an_error_of_next_year"})),
    ("slack", Answer(200, ["not", "an", "object"])),
    ("telegram", Answer(200, {"ok": False})),
    ("discourse", Answer(422, {"errors": ["Body is too similar to what you recently posted"]})),
    ("pagerduty", Answer(404, {})),
]


@pytest.mark.parametrize(("lab", "answer"), UNCLEAR, indirect=["lab"])
def test_what_the_vendor_does_not_promise_proves_nothing(lab: Lab, answer: Answer) -> None:
    lab.vendor.instead = answer

    assert isinstance(lab.send(), Ambiguous)


@each()
def test_the_mark_of_an_approved_resend_is_visible(lab: Lab) -> None:
    hide = {"recognizer_place": "hidden"} if "recognizer_place" in lab.way.adapter.known else {}

    lab.send(marker="re-sent", **hide)

    assert "re-sent" in lab.vendor.submissions[0].body.decode()


@each()
def test_no_secret_is_in_what_is_kept(lab: Lab) -> None:
    lab.vendor.instead = Answer(
        400, {"ok": False, "echo": lab.way.secret}, {"Server": lab.way.secret}
    )

    kept = [repr(lab.send()), repr(lab.adapter().introspect(boottime() + 5))]
    kept += [repr(lab.look())] if lab.way.adapter.slug in SEARCHABLE else []

    assert SECRET not in "".join(kept)


@pytest.mark.parametrize("secret", ["", "line\nend", "ünïcode"])
@each()
def test_a_secret_that_cannot_be_used_is_never_sent(lab: Lab, secret: str) -> None:
    lab.way = Way(lab.way.vendor, lab.way.adapter, lab.way.to, lab.way.settings, secret)

    outcome = lab.send()

    assert isinstance(outcome, NotSent)
    assert not outcome.tried
    assert lab.adapter().ready()
    assert lab.vendor.asks == []


@each("slack", "discord", "telegram", "github", "discourse", "twilio")
def test_introspection_names_the_account(lab: Lab) -> None:
    found = lab.adapter().introspect(boottime() + 5)

    assert found.identity
    assert found.why == ""
    assert found.clock is None or abs(found.clock - datetime.now(UTC)) < timedelta(minutes=1)


@pytest.mark.parametrize("name", WAYS)
def test_each_is_declared_as_known_by_contract_only(name: str) -> None:
    declared = Lab(name).adapter().declare()

    assert declared.met == "contract only"
    assert declared.adapter == name
    assert (declared.tier in "CD") == (name in SEARCHABLE)


# These answers never change: a destination's identity is derived from them.
@pytest.mark.parametrize(
    ("name", "given", "one_spelling"),
    [
        ("slack", " c0123abcdef ", "C0123ABCDEF"),
        ("discord", "112233445566778899", "112233445566778899"),
        ("telegram", "@Counter_Foil", "@counter_foil"),
        ("telegram", "-1001234567890", "-1001234567890"),
        ("github", "Acme/Ops#12", "acme/ops#12"),
        ("discourse", "77", "77"),
        ("resend", "Ops@Acme.test", "ops@acme.test"),
        ("twilio", "+49 30 123-456", "+4930123456"),
        ("pagerduty", "DB-3.acme.test", "db-3.acme.test"),
    ],
)
def test_a_destination_has_one_spelling(name: str, given: str, one_spelling: str) -> None:
    adapter = Lab(name).adapter()

    assert adapter.normalise(given) == one_spelling
    assert adapter.normalise(one_spelling) == one_spelling


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("given", ["", "none", "#general", "a b", "../..", "x\r\ny", "x" * 1001])
def test_what_is_no_destination_is_refused(name: str, given: str) -> None:
    with pytest.raises(BadDestinationError, match="destination"):
        Lab(name).adapter().normalise(given)


def _complete(lab: Lab) -> dict[str, Any]:
    return {} if lab.way.adapter.slug == "twilio" else {"surface_complete": True}


# --- Credentials -------------------------------------------------------------------------------
@each("slack", "discord", "telegram", "github", "resend", "twilio")
def test_an_unknown_token_is_no_refusal_of_the_message(lab: Lab) -> None:
    said = {"ok": False, "error": "invalid_auth", "description": "Unauthorized"}
    lab.vendor.instead = Answer(200 if lab.way.vendor is vendors.Slack else 401, said)

    outcome = lab.send()

    assert isinstance(outcome, Unauthorised)
    assert outcome.needed == ()
    assert len(lab.vendor.submissions) == 1


@each("github")
def test_github_names_the_scope_that_is_lacking(lab: Lab) -> None:
    headers = {"X-OAuth-Scopes": "read:user", "X-Accepted-OAuth-Scopes": "public_repo, repo"}
    lab.vendor.instead = Answer(404, {"message": "Not Found"}, headers)

    outcome = lab.send()

    assert isinstance(outcome, Unauthorised)
    assert outcome.needed == ("public_repo", "repo")
    assert outcome.granted == ("read:user",)


@each("github")
def test_a_token_with_the_scope_is_refused_for_what_the_message_is(lab: Lab) -> None:
    headers = {"X-OAuth-Scopes": "repo", "X-Accepted-OAuth-Scopes": "repo"}
    lab.vendor.instead = Answer(404, {"message": "Not Found"}, headers)

    assert isinstance(lab.send(), Refused)
