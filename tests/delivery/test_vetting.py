"""What an adapter hands back: made fit to be kept, whatever it is, and without the secret."""

from datetime import UTC, datetime
from typing import Any

import pytest

from delivery.channels.contract import Finding
from delivery.errors import SecretError
from delivery.outcomes import Accepted, Ambiguous, Deferred, InFlight, NotSent, Outcome, Refused
from delivery.vetting import vetted_finding, vetted_outcome

SECRET = "sekret-0123456789"
MOMENT = datetime(2026, 11, 29, tzinfo=UTC)


def none() -> str:
    return ""


def finding(**fields: Any) -> Finding:
    return Finding(**{"method": "key_lookup", "verdict": "absent", "searched": "x"} | fields)


@pytest.mark.parametrize(
    "said",
    [
        Accepted("m7", replayed=True, response="200"),
        Refused("no", permanent=False),
        Deferred("busy", 5.0),
        NotSent("no line", tried=False),
        InFlight("wait"),
        Ambiguous("hm", mismatch=True),
    ],
    ids=repr,
)
def test_an_outcome_that_is_one_is_kept_as_it_is(said: Outcome) -> None:
    assert vetted_outcome(said, none) == said


@pytest.mark.parametrize(
    "said",
    [
        None,
        True,
        "m7",
        Accepted,
        Accepted(7),  # type: ignore[arg-type]
        Accepted("m7", replayed="yes"),  # type: ignore[arg-type]
        Accepted("m7", response=b"200"),  # type: ignore[arg-type]
        Refused(ValueError("no")),  # type: ignore[arg-type]
        Refused("no", permanent=None),  # type: ignore[arg-type]
        NotSent("no", tried=0),  # type: ignore[arg-type]
    ],
    ids=repr,
)
def test_what_is_no_outcome_says_nothing(said: object) -> None:
    assert type(vetted_outcome(said, none)) is Ambiguous


@pytest.mark.parametrize("said", ["5", -1, True, float("nan"), float("inf"), 10**400, 1e300, [5]])
def test_a_wait_that_is_none_is_left_out_and_the_refusal_kept(said: Any) -> None:
    assert vetted_outcome(Deferred("busy", said), none) == Deferred("busy")


@pytest.mark.parametrize(
    "said",
    [
        finding(),
        finding(verdict="found", provider_message_id="m7", covered_from=MOMENT, pages=3),
        finding(method="surface_scan", verdict="found_many", why="two", response="a; b"),
    ],
    ids=repr,
)
def test_a_finding_that_is_one_is_kept_as_it_is(said: Finding) -> None:
    assert vetted_finding(said, none) == said


@pytest.mark.parametrize(
    "said",
    [
        None,
        "found",
        Finding,
        finding(verdict="maybe"),
        finding(verdict=["absent"]),
        finding(method="x" * 50),
        finding(method=None),
        finding(searched=7),
        finding(why=ValueError("no")),
        finding(response={"a": 1}),
        finding(provider_message_id=7),
        finding(verdict="found", provider_message_id="x" * 301),
        finding(pages="3"),
        finding(pages=True),
        finding(pages=-1),
        finding(pages=2**31),
        finding(covered_from=MOMENT.replace(tzinfo=None)),
        finding(covered_from=MOMENT.replace(year=1)),
        finding(covered_from="2026-11-29"),
    ],
    ids=lambda said: repr(said)[:60],
)
def test_what_is_no_finding_proves_nothing_and_says_why(said: object) -> None:
    vetted = vetted_finding(said, none)

    assert vetted.verdict == "inconclusive"
    assert "cannot be used" in vetted.why
    assert len(vetted.why) < 400


def test_texts_are_cut_to_what_is_kept() -> None:
    assert len(vetted_finding(finding(response="x" * 10_000), none).response) == 4096


@pytest.mark.parametrize("field", ["searched", "why", "response", "provider_message_id"])
def test_the_secret_is_in_nothing_that_a_finding_keeps(field: str) -> None:
    said = finding(**{field: f"Authorization: Bearer {SECRET}"})

    vetted = vetted_finding(said, lambda: f"{SECRET} another-one")

    assert getattr(vetted, field) == "Authorization: Bearer [secret]"


@pytest.mark.parametrize(
    "said",
    [
        Accepted(f"id-{SECRET}"),
        Accepted("m7", response=f"Bearer {SECRET}"),
        Refused(SECRET, response=SECRET),
        Deferred(f"busy with {SECRET}"),
        NotSent(f"no line to {SECRET}"),
        InFlight(SECRET),
        Ambiguous(f"{SECRET} reset"),
    ],
    ids=lambda said: said.outcome,
)
def test_the_secret_is_in_nothing_that_an_outcome_keeps(said: Outcome) -> None:
    vetted = vetted_outcome(said, lambda: SECRET)

    assert type(vetted) is type(said)
    assert SECRET not in repr(vetted)
    assert "[secret]" in repr(vetted)


def test_a_secret_at_the_edge_of_what_is_kept_leaves_no_beginning() -> None:
    said = finding(response="x" * 4086 + SECRET)

    assert vetted_finding(said, lambda: SECRET).response == "x" * 4086 + "[secret]"


def test_the_secret_is_not_read_where_there_is_no_text() -> None:
    def unreadable() -> str:
        raise AssertionError

    assert vetted_outcome(Accepted(), unreadable) == Accepted()


def test_an_answer_is_kept_when_the_secret_cannot_be_read() -> None:
    def gone() -> str:
        raise SecretError("it is not set")

    assert vetted_outcome(Accepted("m7"), gone) == Accepted("m7")
