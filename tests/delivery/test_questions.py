"""A provider is asked no more often than it takes, whoever asks, and the key is not waited away."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection

from delivery.channels.slack import SlackAdapter
from delivery.inputs import dump, load
from delivery.models import QuestionMeter
from delivery.next_move import Kind, next_move
from delivery.questions import interval_s, reserve
from delivery.recheck import Recheck
from delivery.ways import budget_of
from delivery.worker import Worker
from ledgers.clock import database_now
from ledgers.models import Channel, Delivery, Evidence
from reviews.errors import NotAllowedError
from reviews.searching import look
from tests.commands.shell import typed
from tests.contract.vendor import SECRET
from tests.contract.vendors import Slack
from tests.crash.clock import pass_s
from tests.delivery.senders import Desk
from tests.factories import delivery, make_channel, make_due, record, sweep
from tests.rules.scenarios import Scenario, build

pytestmark = pytest.mark.django_db(transaction=True)

MANY = 1000
PER_MINUTE = 120.0
LOOK = {"path": "tests.delivery.senders.send", "look_up_path": "tests.delivery.senders.look_up"}


def limited(per_minute: float = PER_MINUTE, **fields: Any) -> Channel:
    settings = {**LOOK, "questions_per_minute": per_minute, **fields.pop("settings", {})}
    usual: dict[str, Any] = {
        "look_up_schedule": [0, 0],
        "deadline_s": 2,
        "lease_s": 5,
        "retry_schedule": [3600],
    }
    return make_channel(settings=settings, **usual | fields)


def doubts(desk: Desk, count: int) -> list[float]:
    """So many sends in doubt whose search is due; each look notes when it happened."""
    asked: list[float] = []
    desk.found = lambda _: asked.append(time.monotonic())
    names = [f"tg:{n}" for n in range(count)]
    for name in names:
        desk.script(name, RuntimeError("reset"))
    record(names)
    Worker("shift", concurrency=64).run_shift(60)
    pass_s(60)
    return asked


def most_in(asked: list[float], seconds: float) -> int:
    return max((sum(at <= other < at + seconds for other in asked) for at in asked), default=0)


def test_a_storm_of_a_thousand_unknowns_asks_no_more_than_the_budget_and_starves_nobody(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("delivery.breaker.OPEN_AFTER", 10**9)  # else most would not be sent
    limited()
    asked = doubts(desk, MANY)
    record(["tg:new"], run_id="run-2")

    sweep(concurrency=16, seconds=60)  # it ends as soon as nothing is due
    new = delivery("tg:new", "run-2").status
    end = time.monotonic() + 4
    while time.monotonic() < end:
        sweep(concurrency=16)
        make_due(status="unknown")  # also if the queue were wrong about their turns

    seconds = asked[-1] - asked[0]
    assert new == "delivered"
    assert 0 < len(asked) <= PER_MINUTE * (seconds + 1) / 60 + 1
    assert most_in(asked, 60) <= PER_MINUTE
    assert Delivery.objects.filter(status="unknown").count() == MANY
    assert len(desk.received) == MANY + 1


def test_who_has_to_wait_is_given_a_turn_of_its_own(desk: Desk) -> None:
    limited(per_minute=30, look_up_schedule=[0])
    doubts(desk, 8)

    sweep(concurrency=8)

    waiting = Delivery.objects.filter(cause__startswith="look-up:").order_by("next_attempt_at")
    turns = [row.next_attempt_at for row in waiting if row.next_attempt_at]
    apart = [(b - a).total_seconds() for a, b in pairwise(turns)]
    assert len(turns) == 7
    assert all(gap == pytest.approx(interval_s(30), abs=0.1) for gap in apart)


def test_all_workers_together_keep_to_the_budget(transactional_db: None) -> None:
    channel = limited()
    granted: list[int] = []
    start = threading.Barrier(6)

    def ask() -> None:
        start.wait(10)
        turns = reserve(channel.pk, 5, interval_s(PER_MINUTE))
        granted.append(sum(turn is None for turn in turns))
        connection.close()

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert len(granted) == 6
    assert 1 <= sum(granted) <= 3  # what fits into the second that may be caught up with


def test_no_minute_has_more_questions_than_the_budget(transactional_db: None) -> None:
    channel, asked = limited(per_minute=600), 0
    for _ in range(60):
        asked += sum(turn is None for turn in reserve(channel.pk, 50, interval_s(600)))
        QuestionMeter.objects.update(
            free_at=QuestionMeter.objects.get().free_at - timedelta(seconds=1)
        )

    assert 580 <= asked <= 600


def test_a_turn_that_would_come_too_late_leaves_it_to_the_key() -> None:
    scenario = Scenario(tries="Q", key="open", look="due")
    facts, now = build(scenario)
    until = facts.key_protects_until
    assert until is not None

    before = next_move(facts, now)
    waiting = replace(facts, no_question_before=now + timedelta(seconds=50))
    late = replace(facts, no_question_before=until)

    assert before.kind == Kind.LOOK_UP
    assert (next_move(waiting, now).kind, next_move(waiting, now).rule) == (Kind.WAIT, "look-up")
    assert next_move(late, now).rule == "same-key"
    assert load(dump(late, now, next_move(late, now)))[0] == late


def test_the_decisions_about_turns_can_be_recomputed(desk: Desk) -> None:
    limited(per_minute=30)
    doubts(desk, 3)
    sweep()

    assert list(Recheck().differences()) == []


# --- What is charged ---------------------------------------------------------------------------
@pytest.fixture
def slack(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slack]:
    monkeypatch.setenv("LAB_TOKEN", SECRET)
    with Slack() as vendor:
        make_channel(
            adapter="slack",
            settings={"base_url": vendor.url, "allow_private": True, "questions_per_minute": 6},
            secret_ref="env:LAB_TOKEN",
            deadline_s=20,
            lease_s=30,
            look_up_schedule=[0],
        )
        yield vendor


def test_every_question_of_a_search_is_charged(slack: Slack) -> None:
    slack.lose_answers = True
    record(["C0123ABCDEF"])
    sweep()
    pass_s(120)
    before = len(slack.asks)

    sweep()

    asked = len(slack.asks) - before
    ahead_s = (QuestionMeter.objects.get().free_at - database_now()).total_seconds()
    assert asked == 2  # who we are, and one page
    assert ahead_s > interval_s(6)
    assert Evidence.objects.get().pages == 1


def test_a_person_at_a_shell_asks_within_the_budget_too(desk: Desk) -> None:
    limited(per_minute=1)
    asked = doubts(desk, 3)

    said = typed("reconcile")

    assert said.code == 1
    assert len(asked) == 1
    assert said.out.count("its provider takes no more questions now") == 2


def test_asking_whose_a_credential_is_counts_as_well(slack: Slack) -> None:
    said = typed("channel_check", "alerts")

    ahead_s = (QuestionMeter.objects.get().free_at - database_now()).total_seconds()
    assert said.code in {0, 1}
    assert interval_s(6) - 2 < ahead_s <= interval_s(6)


def test_a_person_at_the_console_asks_within_the_budget_too(slack: Slack) -> None:
    slack.lose_answers = True
    record(["C0123ABCDEF", "C0123ABCDEG"])
    sweep()
    verdicts = look(delivery("C0123ABCDEF").pk, "olga")
    before = len(slack.asks)

    with pytest.raises(NotAllowedError, match="takes no more questions now"):
        look(delivery("C0123ABCDEG").pk, "olga")

    assert (verdicts, len(slack.asks)) == (["found"], before)


@pytest.mark.parametrize(("own", "budget"), [(0, 50), (10, 10), (400, 50)])
def test_a_channel_may_ask_less_often_than_its_provider_takes(own: float, budget: float) -> None:
    assert budget_of(SlackAdapter({"questions_per_minute": own}, str)) == budget
