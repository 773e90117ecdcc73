"""Between claim and write-ahead: others take over, facts arrive, and nothing is sent twice."""

from collections.abc import Callable
from typing import Any

import pytest

from delivery import wave
from delivery.claim import claim
from delivery.errors import RefusedError
from ledgers import evidence
from ledgers.clock import ClockTimestamp, database_now
from ledgers.evidence import Sighting
from ledgers.models import Attempt, Channel, OutboxItem
from tests.crash.clock import pass_s
from tests.delivery.senders import Desk
from tests.delivery.waves import finish, take, take_call
from tests.factories import delivery, record, sweep

pytestmark = pytest.mark.django_db(transaction=True)

AFTER_THE_LEASE_S = 61.0
Before = Callable[[str, Callable[[], None]], None]


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> Before:
    """Let something happen once, right before a function of the wave is called."""

    def arrange(name: str, happening: Callable[[], None]) -> None:
        original = getattr(wave, name)

        def happen_first(*arguments: Any, **named: Any) -> Any:
            monkeypatch.setattr(wave, name, original)
            happening()
            return original(*arguments, **named)

        monkeypatch.setattr(wave, name, happen_first)

    return arrange


def see_nothing() -> None:
    """A fact that changes nothing but the version."""
    row = delivery()
    evidence.add_sightings([
        Sighting(
            row.pk, database_now(), "receipt", "inconclusive", "", "", None, 0, "", "", "tester"
        )
    ])  # fmt: skip


@pytest.mark.parametrize("step", ["read", "write_ahead"])
def test_who_lost_the_lease_before_the_write_ahead_opens_no_attempt(
    alerts: Channel, desk: Desk, before: Before, step: str
) -> None:
    taken = []

    def take_over() -> None:
        pass_s(AFTER_THE_LEASE_S)
        taken.extend(claim(10, {}, 10))

    record()
    before(step, take_over)

    jobs = take("worker-1")

    assert len(taken) == 1
    assert jobs == []
    assert Attempt.objects.count() == 0
    item = OutboxItem.objects.get()
    assert (item.leased, item.due_at) == (True, taken[0].lease_until)


def test_a_fact_between_decision_and_write_ahead_makes_the_worker_decide_again_at_once(
    alerts: Channel, desk: Desk, before: Before
) -> None:
    record()
    before("write_ahead", see_nothing)

    first = take()
    second = take_call()
    finish([second])

    assert first == []
    assert delivery().status == "delivered"
    assert Attempt.objects.count() == 1


def test_a_fact_between_decision_and_wait_makes_the_worker_decide_again_at_once(
    alerts: Channel, desk: Desk, before: Before
) -> None:
    record()
    Channel.objects.update(paused_at=ClockTimestamp())
    before("carry_out", see_nothing)

    take()
    released = OutboxItem.objects.get()
    Channel.objects.update(paused_at=None)
    sweep()

    assert released.leased is False
    assert delivery().status == "delivered"


def test_a_late_answer_between_decision_and_move_makes_the_worker_decide_again(
    alerts: Channel, desk: Desk, before: Before
) -> None:
    desk.script("tg:1001", RefusedError("no such chat"))
    record()
    late = take_call("worker-1")
    pass_s(AFTER_THE_LEASE_S)
    before("_carry_out", lambda: finish([late], "worker-1"))

    take("worker-2")  # decides that nobody knows, which is no longer so
    sweep()

    assert [event.kind for event in delivery().events.all()] == ["record", "begin", "fail"]


def test_two_workers_that_sweep_one_after_another_in_the_same_moment_send_once(
    alerts: Channel, desk: Desk
) -> None:
    record()
    call = take_call("worker-1")

    others = take("worker-2")
    sweep()
    finish([call])

    assert others == []
    assert desk.effects("tg:1001") == 1


def test_a_worker_that_was_frozen_past_its_lease_holds_back_at_the_last_check(
    alerts: Channel, desk: Desk
) -> None:
    record()
    call = take_call("worker-1")
    frozen = call.journal._check
    object.__setattr__(frozen, "lease_limit", frozen.lease_limit - AFTER_THE_LEASE_S)

    finish([call])
    sweep()

    outcomes = list(Attempt.objects.order_by("number").values_list("outcome", flat=True))
    assert outcomes == ["not_tried", "accepted"]
    assert len(desk.received) == 1
