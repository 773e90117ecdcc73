"""Two people at the same moment, on real connections: a decision is carried out once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections, transaction

from delivery.simulator.client import Simulator
from ledgers.models import Delivery, Event
from reviews import decisions
from reviews.errors import NotAllowedError
from reviews.kinds import Kind, Stage
from reviews.people import Person
from reviews.records import Decision
from reviews.selecting import select
from tests.delivery.waves import take
from tests.factories import sweep
from tests.ledgers.connections import other_thread, wait_until_blocked
from tests.reviews.people import person
from tests.reviews.scenes import BLIND, ROOM, absent, channel, let_undo_end, unknown, wish

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def carol(transactional_db: None) -> Person:
    return person("carol", "approver")


def outcome(act: Callable[[], Decision]) -> str:
    """What somebody is told: the stage, or the refusal."""
    try:
        return str(act().stage)
    except NotAllowedError as error:
        return str(error)


def at_once(first: Callable[[], Decision], second: Callable[[], Decision]) -> list[str]:
    """Both, on a connection of their own each, started together."""

    def run(act: Callable[[], Decision]) -> str:
        try:
            return outcome(act)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(run, (first, second)))


def test_two_approvers_at_the_same_moment_make_one_generation_and_one_attempt(
    recipient: Simulator, alice: Person, bob: Person, carol: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])

    told = at_once(
        lambda: decisions.approve(bob, asked.pk), lambda: decisions.approve(carol, asked.pk)
    )
    let_undo_end(*Delivery.objects.filter(generation=2))
    sweep()

    (loser,) = [words for words in told if words != Stage.EXECUTED]
    asked.refresh_from_db()
    assert f"carried out ({asked.approved_by}, " in loser
    assert Delivery.objects.filter(generation=2).count() == 1
    assert recipient.submissions(ROOM) == 2


def test_the_second_of_two_waits_for_the_first_and_sees_who_and_when(
    recipient: Simulator, alice: Person, bob: Person, carol: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])

    with other_thread() as thread:
        with transaction.atomic():
            decisions.approve(bob, asked.pk)
            second = thread.submit(outcome, lambda: decisions.approve(carol, asked.pk))
            wait_until_blocked()
        told = second.result(20)

    assert "carried out (bob, " in told
    assert " UTC)" in told


def test_a_double_click_on_confirm_decides_once(recipient: Simulator, alice: Person) -> None:
    channel(recipient)
    row = absent(recipient)
    draft = select(alice, {row.pk: row.row_version})
    asked = wish(Kind.SEND_AFTER_ABSENT)

    told = at_once(
        lambda: decisions.request(alice, asked, draft.pk),
        lambda: decisions.request(alice, asked, draft.pk),
    )
    let_undo_end(row)
    sweep()

    assert sorted(words == Stage.EXECUTED for words in told) == [False, True]
    assert Event.objects.filter(kind="decide").count() == 1
    assert recipient.effects(ROOM) == 1


def test_two_decisions_of_two_people_about_one_delivery_carry_out_one(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient)
    row = absent(recipient)

    told = at_once(
        lambda: decisions.decide(alice, wish(Kind.SEND_AFTER_ABSENT), [row]),
        lambda: decisions.decide(bob, wish(Kind.LEAVE), [row]),
    )

    (loser,) = [words for words in told if words != Stage.EXECUTED]
    assert "moved since it was looked at" in loser
    assert Event.objects.filter(kind="decide").count() == 1


def test_an_undo_that_races_a_worker_is_either_in_time_or_too_late(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient)
    row = absent(recipient)
    decision = decisions.decide(alice, wish(Kind.SEND_AFTER_ABSENT), [row])
    let_undo_end(row)
    calls = take()

    told = outcome(lambda: decisions.undo(alice, decision.pk))

    assert len(calls) == 1
    assert "it has moved on" in told
    row.refresh_from_db()
    assert row.status == "submitting"


def test_a_worker_that_decided_before_a_person_did_changes_nothing(
    recipient: Simulator, alice: Person
) -> None:
    from delivery.claim import claim
    from delivery.contents import read_contents
    from delivery.decide import decide
    from delivery.history import read
    from delivery.submit import Identity, Ready, render, write_ahead
    from delivery.timing import boottime
    from delivery.ways import Ways
    from tests.factories import delivery, record

    channel(recipient)
    (row,) = record([ROOM])
    mark, ways = boottime(), Ways()
    leases = {item.delivery_id: item for item in claim(10, {}, 10)}
    (decided,) = [decide(case) for case in read(leases, ways)]
    ready = render(decided, read_contents([row.message_id], ways), ways)
    assert isinstance(ready, Ready)

    decisions.decide(alice, wish(Kind.CANCEL), [delivery(ROOM)])

    who = Identity("worker-1", "host", "build")
    assert write_ahead([ready], leases, mark, ways, who) == []
    assert delivery(ROOM).status == "cancelled"
