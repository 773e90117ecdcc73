"""What a vendor's answers prove: each says no, wait, or nothing certain in words of its own."""

import pytest

from delivery.outcomes import (
    Accepted,
    Ambiguous,
    Deferred,
    InFlight,
    Refused,
    Unauthorised,
)
from tests.contract import vendors
from tests.contract.lab import KEYED, Lab, each
from tests.contract.vendor import Answer
from tests.contract.ways import WAYS


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
