"""What an answer's status and header fields are taken for."""

from typing import Any

import pytest
from requests.structures import CaseInsensitiveDict

from delivery.channels.answers import MAX_KEPT, Reading, kept_text, outcome_of, retry_after_s
from delivery.channels.reading import PartialAnswer
from delivery.outcomes import Accepted, Ambiguous, Deferred, InFlight, Refused

WEEK_S = 7 * 86_400.0


def answer(status: int, body: bytes = b"{}", **headers: str) -> PartialAnswer:
    made = PartialAnswer()
    made.status_code, made.reason, made._content = status, "Told", body
    made.headers = CaseInsensitiveDict(
        {name.replace("_", "-"): value for name, value in headers.items()}
    )
    return made


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("0", 0.0),
        ("12", 12.0),
        (" 12 ", 12.0),
        ("1.5", 1.5),
        ("999999999999999999999", WEEK_S),
        ("9" * 400, None),
        ("-5", None),
        ("1e9", None),
        ("inf", None),
        ("nan", None),
        ("soon", None),
        ("", None),
        ("12, 13", 13.0),
        ("13, soon, 12", 13.0),
        ("5, Sun, 29 Nov 2026 12:00:30 GMT", 30.0),
        ("Sun, 29 Nov 2026 12:00:30 GMT, 5", 30.0),
        ("Sunday, 29-Nov-26 12:00:30 GMT,Sun, 29 Nov 2026 12:00:40 GMT", 40.0),
        (", ,", None),
        ("Sun, 29 Nov 2026 12:00:30 GMT", 30.0),
        ("Sunday, 29-Nov-26 12:00:30 GMT", 30.0),
        ("Sun Nov 29 12:00:30 2026", 30.0),
        ("Sun, 29 Nov 2026 11:00:00 GMT", 0.0),
        ("Sun, 29 Nov 9999 11:00:00 GMT", WEEK_S),
        ("Sun, 99 Nov 2026 11:00:00 GMT", None),
    ],
)
def test_retry_after_is_read_in_every_form(said: str, seconds: float | None) -> None:
    told = answer(429, Retry_After=said, Date="Sun, 29 Nov 2026 12:00:00 GMT")

    assert retry_after_s(told) == seconds


def test_retry_after_may_be_absent() -> None:
    assert retry_after_s(answer(429)) is None


def test_a_retry_date_without_the_peers_own_clock_is_read_on_ours() -> None:
    seconds = retry_after_s(answer(429, Retry_After="Sun, 29 Nov 2020 12:00:30 GMT"))

    assert seconds == 0.0


def test_a_rate_limit_is_deferred_by_as_long_as_it_says() -> None:
    outcome = outcome_of(answer(429, Retry_After="7"), Reading())

    assert isinstance(outcome, Deferred)
    assert outcome.retry_after_s == 7.0


def test_a_rate_limit_that_proves_nothing_is_ambiguous() -> None:
    assert isinstance(outcome_of(answer(429), Reading(rate_limit="ambiguous")), Ambiguous)


@pytest.mark.parametrize(
    ("meaning", "kind"),
    [
        ("ambiguous", Ambiguous),
        ("in_flight", InFlight),
        ("mismatch", Ambiguous),
        ("accepted", Accepted),
    ],
)
def test_a_conflict_means_what_the_channel_declares(meaning: Any, kind: type) -> None:
    outcome = outcome_of(answer(409), Reading(conflict=meaning))

    assert isinstance(outcome, kind)
    assert getattr(outcome, "mismatch", False) == (meaning == "mismatch")
    assert getattr(outcome, "replayed", False) == (meaning == "accepted")


@pytest.mark.parametrize(
    ("meaning", "kind"),
    [("ambiguous", Ambiguous), ("refused", Refused), ("accepted", Accepted)],
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_means_what_the_channel_declares(meaning: Any, kind: type, status: int) -> None:
    assert isinstance(outcome_of(answer(status), Reading(redirect=meaning)), kind)


@pytest.mark.parametrize("status", [408, 425, 500, 502, 503, 504, 521])
def test_no_setting_makes_these_prove_non_acceptance(status: int) -> None:
    reading = Reading(refusals=frozenset(range(500, 600)))

    assert isinstance(outcome_of(answer(status), reading), Ambiguous)


def test_a_refusal_is_only_what_was_declared() -> None:
    reading = Reading(refusals=frozenset({418}))

    assert isinstance(outcome_of(answer(418), reading), Refused)
    assert isinstance(outcome_of(answer(400), reading), Ambiguous)


@pytest.mark.parametrize(
    ("said", "replayed"), [("true", True), ("TRUE", True), ("false", False), ("", False)]
)
def test_a_replay_is_told_apart(said: str, replayed: bool) -> None:
    outcome = outcome_of(answer(200, Idempotent_Replayed=said), Reading())

    assert isinstance(outcome, Accepted)
    assert outcome.replayed == replayed


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b'{"id": "m1"}', "m1"),
        (b'{"id": 17}', "17"),
        (b'{"id": true}', ""),
        (b'{"id": null}', ""),
        (b'{"id": {"a": 1}}', ""),
        (b'["id"]', ""),
        (b'{"id": "a\\u0000b\\ud800"}', "a\ufffdb?"),
        (b"[" * 100_000, ""),
        (b"", ""),
        (b"\xff\xfe", ""),
        (b'{"id": "' + b"x" * 500 + b'"}', "x" * 200),
    ],
)
def test_the_id_is_taken_only_where_one_is_named(body: bytes, named: str) -> None:
    outcome = outcome_of(answer(201, body), Reading())

    assert isinstance(outcome, Accepted)
    assert outcome.provider_message_id == named


def test_the_id_can_stand_in_a_header() -> None:
    told = answer(202, b'{"id": "other"}', X_Message_Id="abc")

    outcome = outcome_of(told, Reading(id_header="X-Message-Id"))

    assert isinstance(outcome, Accepted)
    assert outcome.provider_message_id == "abc"


def test_what_is_kept_is_short_storable_and_without_secrets() -> None:
    text = kept_text(answer(500, b"a\x00b s3cret \xff" + b"x" * 100_000), ["s3cret", ""])

    assert text.startswith("500 Told\n")
    assert "s3cret" not in text
    assert "\x00" not in text
    assert len(text) == MAX_KEPT
