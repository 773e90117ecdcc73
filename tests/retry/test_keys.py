"""The key: the same to the byte on every try, another for everything else, and believed as far as
its window is known."""

from typing import Any

import pytest

from delivery import agent
from delivery.channels.registry import adapter_for
from delivery.simulator.client import Simulator
from ledgers.models import Attempt, Evidence
from tests.crash.clock import pass_s
from tests.factories import deliveries, delivery, message, record, sweep
from tests.retry.ways import DAY, HOUR, MINUTE, hooks, outcomes, rooms, wire

SEARCH_NOTHING = {"scan": False, "look_up_by_key": False, "look_up_by_id": False}
KEYED = {"dedupe_window_s": DAY} | SEARCH_NOTHING


def keys(recipient: Simulator, to: str) -> list[str]:
    """The keys as they were on the wire."""
    return [str(one["key"]) for one in recipient.last_submissions(to, 1000)]


def attempt(number: int = 1, destination: str = "room:a") -> Attempt:
    return Attempt.objects.get(number=number, delivery__destination=destination)


@pytest.mark.parametrize("adapter", ["webhook", "simulator"])
def test_the_key_is_the_same_on_every_try_and_another_for_every_destination(
    recipient: Simulator, adapter: str
) -> None:
    names = ["room:a", "room:b"]
    if adapter == "webhook":
        hooks(settings={"dedupe_window_s": DAY})
        to = [recipient.hook(name) for name in names]
    else:
        rooms(recipient, settings=KEYED)
        to = names
    for name in names:
        recipient.behave(name, "503", "accept_and_close", "502", "accept", dedupe_s=DAY)
    record(to)

    sweep()

    stored = {name: delivery(one).idempotency_key for name, one in zip(names, to, strict=True)}
    assert stored["room:a"] != stored["room:b"]
    assert {name: keys(recipient, name) for name in names} == {
        name: [key] * 4 for name, key in stored.items()
    }
    assert {a.idempotency_key for a in Attempt.objects.all()} == set(stored.values())
    assert recipient.effects_by_destination() == {"room:a": 1, "room:b": 1}


def test_the_bytes_are_the_same_on_every_try(recipient: Simulator) -> None:
    rooms(recipient, settings=KEYED)
    recipient.behave("room:a", *["503"] * 3)
    record(["room:a"], 'quotes " and accents é\n')

    sweep()

    bodies = {one["body_hash"] for one in recipient.last_submissions("room:a")}
    assert bodies == {delivery("room:a").body_hash}


def test_a_replay_is_an_acceptance_and_told_as_one(recipient: Simulator) -> None:
    rooms(recipient, settings=KEYED)
    recipient.behave("room:a", "accept_and_reset", "accept", dedupe_s=DAY)
    record(["room:a"])

    sweep()

    row, second = delivery("room:a"), attempt(2)
    assert (row.status, second.outcome, second.replayed) == ("delivered", "accepted", True)
    assert row.provider_message_id == recipient.messages("room:a")[0]["id"]
    assert (recipient.effects("room:a"), recipient.submissions("room:a")) == (1, 2)
    assert attempt(1).replayed is False


def test_an_earlier_one_that_is_still_in_flight_leaves_it_unknown_and_is_asked_again_later(
    recipient: Simulator,
) -> None:
    rooms(recipient, settings=KEYED)
    in_flight = {"do": "in_flight", "retry_after": 30}
    recipient.behave("room:a", "accept_and_reset", in_flight, "accept", dedupe_s=DAY)
    record(["room:a"])

    sweep()
    row, second = delivery("room:a"), attempt(2)
    pass_s(31)
    sweep()

    assert (row.status, outcomes("room:a")[:2]) == ("unknown", ["ambiguous", "in_flight"])
    assert row.next_attempt_at is not None
    assert second.closed_at is not None
    assert (row.next_attempt_at - second.closed_at).total_seconds() >= 30
    assert (delivery("room:a").status, attempt(3).replayed) == ("delivered", True)
    assert recipient.effects("room:a") == 1


def test_another_body_under_this_key_is_evidence_and_the_key_is_not_tried_again(
    recipient: Simulator,
) -> None:
    rooms(recipient, settings=KEYED)
    recipient.behave("room:a", "accept_and_reset", "mismatch")
    record(["room:a"])

    for _ in range(3):
        sweep()
        pass_s(HOUR)

    row = delivery("room:a")
    assert (row.status, outcomes("room:a")) == ("unknown", ["ambiguous", "mismatch"])
    assert row.cause.startswith("blocked:")
    assert "another body before" in attempt(2).error
    assert "409" in attempt(2).response
    assert wire(recipient, "room:a") == ["accept_and_reset", "mismatch"]


def test_a_conflict_that_nobody_declared_is_not_taken_for_already_sent(
    recipient: Simulator,
) -> None:
    hooks()
    recipient.behave("a", "409")
    record([recipient.hook("a")])

    sweep()

    assert delivery(recipient.hook("a")).status == "unknown"


@pytest.mark.parametrize("adapter", ["webhook", "simulator"])
def test_a_window_that_is_not_known_is_none_although_the_key_is_sent(
    recipient: Simulator, adapter: str
) -> None:
    if adapter == "webhook":
        channel, to = hooks(), recipient.hook("room:a")
    else:
        channel, to = rooms(recipient, settings=SEARCH_NOTHING), "room:a"
    recipient.behave("room:a", "accept_and_reset", dedupe_s=DAY)  # it does honour it
    record([to])

    for _ in range(3):
        sweep()
        pass_s(HOUR)

    assert adapter_for(channel).declare().window.seconds == 0
    assert (delivery(to).status, outcomes(to)) == ("unknown", ["ambiguous"])
    assert keys(recipient, "room:a") == [delivery(to).idempotency_key]


def test_a_key_is_not_used_under_another_account_than_the_first_time(
    recipient: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTERFOIL_TEST_SECRET", "first-account")
    settings: dict[str, Any] = KEYED | {"key_scope": "credential"}
    secret = "env:COUNTERFOIL_TEST_SECRET"
    rooms(recipient, settings=settings, secret_ref=secret, retry_schedule=[HOUR])
    recipient.behave("room:a", "accept_and_reset", dedupe_s=DAY, key_scope="credential")
    record(["room:a"])
    sweep()
    between = delivery("room:a").cause

    monkeypatch.setenv("COUNTERFOIL_TEST_SECRET", "second-account")
    pass_s(2 * HOUR)
    sweep()

    row = delivery("room:a")
    assert between.startswith("same-key:")
    assert (row.status, row.cause.partition(":")[0]) == ("unknown", "blocked")
    assert recipient.submissions("room:a") == recipient.effects("room:a") == 1


def test_a_failure_notice_and_a_later_reply_do_not_hide_each_other(recipient: Simulator) -> None:
    rooms(recipient, settings=KEYED)
    recipient.behave("room:a", dedupe_s=DAY, key_scope="everywhere", mismatch="ignore")
    with agent.run("run-1", agent="tester") as run:
        notice = message(["room:a"], "could not finish", name="failure-notice")
        run.step("notice").complete({}, [notice])
        sweep()
        run.step("reply").complete({}, [message(["room:a"], "here it is", name="reply")])
        sweep()

    assert {row.status for row in deliveries()} == {"delivered"}
    assert len(set(keys(recipient, "room:a"))) == 2
    shown = [one["text"].splitlines()[0] for one in recipient.messages("room:a")]
    assert shown[:2] == ["here it is", "could not finish"]


def test_white_space_at_the_end_changes_nothing_about_being_found_again(
    recipient: Simulator,
) -> None:
    rooms(recipient, settings={"look_up_by_key": False}, look_up_schedule=[0])
    recipient.behave("room:a", "accept_and_reset", rewrite=["trim"])
    record(["room:a"], "done\n")
    sweep()

    pass_s(2 * MINUTE)
    record(["room:a"], "done\n")  # and the step runs once more
    sweep()

    assert delivery("room:a").status == "delivered"
    assert Evidence.objects.get(verdict="found").method == "surface_scan"
    assert recipient.effects("room:a") == len(deliveries()) == 1


@pytest.mark.parametrize(
    ("max_pages", "status", "verdict"), [(2, "delivered", "found"), (1, "unknown", "inconclusive")]
)
def test_a_search_reads_further_than_the_first_page_or_proves_nothing(
    recipient: Simulator, max_pages: int, status: str, verdict: str
) -> None:
    pages = {"look_up_by_key": False, "page_size": 30, "max_pages": max_pages}
    rooms(recipient, settings=pages, look_up_schedule=[0])
    recipient.behave("room:a", "accept_and_reset")
    record(["room:a"])
    sweep()
    for n in range(32):  # ours is the 33rd of the list
        recipient.inject("room:a", f"chatter {n}")

    pass_s(2 * MINUTE)
    sweep()

    assert (delivery("room:a").status, Evidence.objects.get().verdict) == (status, verdict)
    assert recipient.effects("room:a") == 1
