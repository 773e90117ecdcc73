"""Only what was really tried uses the budget; a refusal for good needs no second try."""

from typing import Any

import pytest

from delivery.errors import HeldBackError, NotSentError
from delivery.journal import stop_sign
from delivery.simulator.client import Simulator
from ledgers.models import Attempt, Channel, Credential
from tests.crash.clock import pass_s
from tests.delivery.senders import Desk
from tests.factories import deliveries, delivery, make_channel, make_due, record, sweep
from tests.retry.ways import DAY, HOUR, hooks, outcomes, rooms, wire

NOTHING_TO_SEARCH = {"scan": False, "look_up_by_key": False, "look_up_by_id": False}


def test_every_allowed_attempt_is_made_and_not_one_more(desk: Desk) -> None:
    make_channel(max_attempts=5)
    make_channel("others", max_attempts=5)
    desk.script("tg:1", *[NotSentError("no route")] * 9)
    desk.script("tg:2", *[NotSentError("no route")] * 4)
    record(["tg:1"])
    record(["tg:2"], run_id="run-2", channel="others")

    for _ in range(3):
        sweep()
        make_due()

    one, other = delivery("tg:1"), delivery("tg:2", "run-2")
    assert (one.status, one.attempt_count) == ("failed", 5)
    assert (other.status, other.attempt_count) == ("delivered", 5)
    assert one.cause == "exhausted: all its attempts are used"


def test_being_limited_before_each_real_attempt_leaves_the_whole_budget_to_them(
    recipient: Simulator,
) -> None:
    hooks(max_attempts=3, settings={"dedupe_window_s": DAY})
    recipient.behave("a", *["rate_limit", "503"] * 2, "rate_limit", "accept")
    record([recipient.hook("a")])

    for _ in range(4):
        sweep()
        pass_s(2)

    assert outcomes(recipient.hook("a")) == ["deferred", "ambiguous"] * 2 + ["deferred", "accepted"]
    assert delivery(recipient.hook("a")).status == "delivered"


def test_a_last_check_that_says_no_costs_nothing_and_writes_no_byte(
    recipient: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    rooms(recipient, max_attempts=1)
    record(["room:a"])
    with monkeypatch.context() as frozen:
        # As if the process had been stopped before the first byte until its lease was over.
        frozen.setattr("delivery.journal.boottime", lambda: 1e12)
        for _ in range(3):
            sweep()
            pass_s(2)

    sweep()

    assert outcomes("room:a") == ["not_tried"] * (1 + 3) + ["accepted"]
    assert (recipient.submissions("room:a"), recipient.effects("room:a")) == (1, 1)


@pytest.mark.parametrize("behaviour", ["rate_limit", {"do": "rate_limit", "retry_after": 0}])
def test_what_costs_no_attempt_again_and_again_costs_time_even_where_the_schedule_has_no_pause(
    recipient: Simulator, behaviour: object
) -> None:
    rooms(recipient, retry_schedule=[0])
    recipient.behave("room:a", always=behaviour)
    record(["room:a"])

    for _ in range(3):
        sweep()  # one that asked at once each time would go on for as long as it works
        pass_s(2)

    assert wire(recipient, "room:a") == ["rate_limit"] * (1 + 3)


def test_an_ending_worker_holds_back_what_it_had_opened_at_no_cost(
    recipient: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    rooms(recipient, max_attempts=1, retry_schedule=[HOUR])
    record(["room:a"])
    monkeypatch.setattr(stop_sign, "_reason", "the worker is ending")

    sweep()
    row = delivery("room:a")
    monkeypatch.setattr(stop_sign, "_reason", "")
    pass_s(2 * HOUR)
    sweep()

    assert (row.status, recipient.submissions("room:a")) == ("pending", 1)
    assert outcomes("room:a") == ["not_tried", "accepted"]


def test_a_channel_that_is_not_ready_at_three_starts_has_cost_nothing_at_the_fourth(
    recipient: Simulator, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    secret = tmp_path / "secret"
    Credential.objects.all().delete()
    hooks(max_attempts=1, secret_ref=f"file:{secret}")
    record([recipient.hook("a")])

    counts = []
    for _ in range(3):
        sweep()
        make_due()
        counts.append((delivery(recipient.hook("a")).attempt_count, Attempt.objects.count()))
    secret.write_text("hunter2-hunter2")
    sweep()

    assert counts == [(0, 0)] * 3
    assert outcomes(recipient.hook("a")) == ["accepted"]
    assert recipient.effects("a") == 1


REFUSALS = ["400", "403", "404", "405", "410", "413", "415", "422"]


def test_a_refusal_for_good_ends_it_at_the_first_attempt_whatever_is_restarted(
    recipient: Simulator,
) -> None:
    hooks(retry_schedule=[0])
    for status in REFUSALS:
        recipient.behave(status, always=status)
    record([recipient.hook(status) for status in REFUSALS])

    for _ in range(5):
        sweep()
        make_due()

    assert {(row.status, row.attempt_count, row.cause) for row in deliveries()} == {
        ("failed", 1, "refused: the recipient refused it for good")
    }
    assert {status: wire(recipient, status) for status in REFUSALS} == {
        status: [status] for status in REFUSALS
    }


def test_without_a_restart_the_third_step_delivers_under_the_same_key(
    recipient: Simulator,
) -> None:
    rooms(recipient, settings={"dedupe_window_s": DAY} | NOTHING_TO_SEARCH, retry_schedule=[0])
    recipient.behave("room:a", "503", "503", "accept", dedupe_s=DAY)
    record(["room:a"])

    worker = sweep()

    keys = {one["key"] for one in recipient.last_submissions("room:a")}
    assert (worker.settled, outcomes("room:a")) == (3, ["ambiguous", "ambiguous", "accepted"])
    assert keys == {delivery("room:a").idempotency_key}
    assert (delivery("room:a").status, recipient.effects("room:a")) == ("delivered", 1)


def test_without_a_key_an_unavailable_provider_leaves_it_unknown_and_is_not_asked_again(
    recipient: Simulator,
) -> None:
    rooms(recipient, settings=NOTHING_TO_SEARCH)
    recipient.behave("room:a", "503", "503", "accept")
    record(["room:a"])

    for _ in range(3):
        sweep()
        pass_s(HOUR)

    assert (delivery("room:a").status, wire(recipient, "room:a")) == ("unknown", ["503"])


def test_what_waits_for_a_dead_provider_is_drained_without_a_restart(
    recipient: Simulator,
) -> None:
    rooms(recipient, settings={"dedupe_window_s": DAY} | NOTHING_TO_SEARCH, retry_schedule=[HOUR])
    everybody = [f"room:{n}" for n in range(7)]
    recipient.behave("*", *["503"] * len(everybody), dedupe_s=DAY)
    record(everybody)
    sweep()
    between = {row.status for row in deliveries()}

    pass_s(2 * HOUR)
    sweep()

    assert between == {"unknown"}
    assert {row.status for row in deliveries()} == {"delivered"}
    assert set(recipient.effects_by_destination().values()) == {1}


def test_a_sender_that_holds_back_by_itself_costs_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise HeldBackError("the moment has passed")

    Channel.objects.all().delete()
    make_channel(max_attempts=1, retry_schedule=[HOUR])
    record()
    with monkeypatch.context() as patched:
        patched.setattr("delivery.channels.function.FunctionAdapter.submit", refuse)
        sweep()
    held = outcomes("tg:1001")
    pass_s(2 * HOUR)
    sweep()

    assert (held, outcomes("tg:1001")) == (["not_tried"], ["not_tried", "accepted"])
