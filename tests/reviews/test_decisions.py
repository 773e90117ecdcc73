"""Decisions of one person, from the request to their end; effects are counted there."""

from datetime import timedelta

import pytest

from delivery.simulator.client import Simulator
from ledgers.clock import database_now
from ledgers.errors import InvalidValueError
from ledgers.models import Delivery, Evidence
from reviews import decisions
from reviews.errors import NotAllowedError
from reviews.kinds import Kind, Stage
from reviews.people import Person
from tests.delivery.waves import take_call
from tests.factories import deliveries, delivery, make_due, record, sweep
from tests.reviews.scenes import (
    BLIND,
    ROOM,
    absent,
    channel,
    due,
    failed,
    let_undo_end,
    settle_delay_over,
    unknown,
    wish,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_arrived_makes_it_delivered_on_the_persons_own_evidence(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)

    decision = decisions.decide(alice, wish(Kind.ARRIVED), [row])

    row.refresh_from_db()
    seen = Evidence.objects.get()
    assert decision.stage == Stage.EXECUTED
    assert (row.status, row.disputed_at) == ("delivered", None)
    assert (seen.method, seen.verdict, seen.seen_by) == ("operator", "found", "alice")
    assert (seen.searched, seen.why) == ("https://chat.example/1", "the team says so")
    assert recipient.submissions(ROOM) == 1


def test_it_arrived_takes_a_note_and_where_it_can_be_seen(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)

    for field in ("note", "link", "reason"):
        with pytest.raises(InvalidValueError, match=field):
            decisions.decide(alice, wish(Kind.ARRIVED, **{field: " "}), [row])

    assert not Evidence.objects.exists()
    assert delivery(ROOM).status == "unknown"


def test_it_arrived_after_a_search_found_nothing_is_a_dispute(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient)
    row = absent(recipient)

    decisions.decide(alice, wish(Kind.ARRIVED), [row])

    row.refresh_from_db()
    assert row.status == "delivered"
    assert row.disputed_at is not None


def test_what_is_left_undelivered_is_at_rest_and_still_may_be_decided_otherwise(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)

    decisions.decide(alice, wish(Kind.LEAVE), [row])
    sweep()

    row.refresh_from_db()
    assert (row.status, row.decision) == ("unknown", "leave")
    assert due(row) is None
    decisions.decide(alice, wish(Kind.ARRIVED), [row])
    assert delivery(ROOM).status == "delivered"


def test_it_is_searched_again_when_a_person_wants_it(recipient: Simulator, alice: Person) -> None:
    channel(recipient, look_up_schedule=[])
    (row,) = unknown(recipient)
    assert due(row) is None
    at = database_now() + timedelta(hours=1)

    decisions.decide(alice, wish(Kind.LOOK_AGAIN, look_at=at), [row])

    assert due(row) == at
    settle_delay_over(row)
    Delivery.objects.filter(pk=row.pk).update(look_again_at=database_now())
    make_due(pk=row.pk)
    sweep()
    assert delivery(ROOM).status == "delivered"
    assert recipient.submissions(ROOM) == 1


def test_a_search_is_not_asked_for_where_nothing_can_be_searched(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)

    with pytest.raises(NotAllowedError, match="cannot be searched"):
        decisions.decide(
            alice, wish(Kind.LOOK_AGAIN, look_at=database_now() + timedelta(hours=1)), [row]
        )


def test_what_failed_is_tried_again_and_is_due_at_once(recipient: Simulator, alice: Person) -> None:
    channel(recipient)
    row = failed(recipient)

    decisions.decide(alice, wish(Kind.TRY_AGAIN), [row])
    assert due(row) is not None
    let_undo_end(row)
    sweep()

    row.refresh_from_db()
    assert (row.status, row.attempt_count) == ("delivered", 2)
    assert recipient.effects(ROOM) == 1


def test_what_expired_may_be_tried_again_late(recipient: Simulator, alice: Person) -> None:
    channel(recipient)
    record([ROOM], not_after=database_now() + timedelta(milliseconds=1))
    sweep()
    (row,) = deliveries()
    assert row.status == "expired"

    decisions.decide(alice, wish(Kind.TRY_AGAIN), [row])
    let_undo_end(row)
    sweep()

    row.refresh_from_db()
    assert row.status == "delivered"


def test_what_expired_can_be_discarded(recipient: Simulator, alice: Person) -> None:
    channel(recipient)
    record([ROOM], not_after=database_now() + timedelta(milliseconds=1))
    sweep()
    (row,) = deliveries()

    decisions.decide(alice, wish(Kind.DISCARD), [row])

    row.refresh_from_db()
    assert (row.status, row.decision) == ("expired", "leave")


def test_a_cancel_in_time_is_never_sent(recipient: Simulator, alice: Person) -> None:
    channel(recipient)
    (row,) = record([ROOM])

    decision = decisions.decide(alice, wish(Kind.CANCEL), [row])
    sweep()

    row.refresh_from_db()
    assert row.status == "cancelled"
    assert decision.rows.get().result == "done"
    assert recipient.submissions(ROOM) == 0


def test_a_cancel_while_it_is_on_the_wire_is_told_to_be_too_late_and_the_outcome_is_the_real_one(
    recipient: Simulator, alice: Person
) -> None:
    from delivery.settle import settle

    channel(recipient)
    (row,) = record([ROOM])
    call = take_call()

    decision = decisions.decide(alice, wish(Kind.CANCEL), [delivery(ROOM)])
    call.run()
    settle([call], "worker-1")

    said = decision.rows.get()
    assert said.result == "late"
    assert "too late: it may have been sent" in said.why
    row.refresh_from_db()
    assert row.status == "delivered"
    assert row.withdrawn_at is not None


def test_a_cancel_of_what_a_worker_has_claimed_and_not_begun_is_never_sent(
    recipient: Simulator, alice: Person
) -> None:
    from delivery.claim import claim
    from delivery.submit import Identity
    from delivery.timing import boottime
    from delivery.wave import open_wave

    channel(recipient)
    (row,) = record([ROOM])
    mark = boottime()
    claimed = claim(10, {}, 10)

    decisions.decide(alice, wish(Kind.CANCEL), [delivery(ROOM)])
    calls = open_wave(claimed, mark, Identity("worker-1", "host", "build"))

    assert calls == []
    row.refresh_from_db()
    assert row.status == "cancelled"


def test_tries_under_approval_wait_and_go_when_they_are_approved(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, requires_approval=True)
    record([ROOM, "room:b"])
    sweep()
    first, other = deliveries()
    assert recipient.submissions() == 0

    with pytest.raises(NotAllowedError, match="permission approve"):
        decisions.decide(alice, wish(Kind.APPROVE_TRY), [first])
    decisions.decide(bob, wish(Kind.APPROVE_TRY), [first])
    decisions.decide(bob, wish(Kind.REFUSE_TRY), [other])
    let_undo_end(first)
    sweep()

    assert delivery(ROOM).status == "delivered"
    assert delivery("room:b").status == "cancelled"
    assert recipient.submissions() == 1
