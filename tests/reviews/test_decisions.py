"""Every decision, from the request to its end; effects are counted at the recipient."""

from datetime import timedelta

import pytest
from pytest_django import Settings

from delivery.simulator.client import Simulator
from delivery.submit import RESENT_MARKER
from ledgers.clock import database_now
from ledgers.errors import InvalidValueError
from ledgers.models import Delivery, Event, Evidence, OutboxItem
from reviews import decisions
from reviews.errors import NotAllowedError, VoidError
from reviews.kinds import Kind, Stage
from reviews.people import Person
from reviews.records import Decision
from reviews.selecting import select
from tests.delivery.waves import take_call
from tests.factories import deliveries, delivery, make_due, record, sweep
from tests.reviews.scenes import (
    BLIND,
    ROOM,
    absent,
    channel,
    due,
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


def test_the_same_key_is_sent_again_once_the_undo_is_over_and_makes_no_second_message(
    recipient: Simulator, alice: Person
) -> None:
    # Left to itself it waits an hour for its search.
    channel(recipient, settings={"dedupe_window_s": 7200, "scan": True}, look_up_schedule=[3600])
    recipient.behave(ROOM, dedupe_s=7200)
    (row,) = unknown(recipient)

    decision = decisions.decide(alice, wish(Kind.SEND_SAME_KEY), [row])
    sweep()
    before = recipient.submissions(ROOM)
    let_undo_end(row)
    sweep()

    row.refresh_from_db()
    assert decision.undo_until is not None
    assert (before, recipient.submissions(ROOM), recipient.effects(ROOM)) == (1, 2, 1)
    assert (row.status, row.attempt_count, row.generation) == ("delivered", 2, 1)


def test_an_approved_same_key_whose_window_has_closed_is_not_sent(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings={"dedupe_window_s": 7200, **BLIND})
    (row,) = unknown_and_paused(recipient)
    decisions.decide(alice, wish(Kind.SEND_SAME_KEY), [row])

    let_undo_end(row)
    earlier = database_now() - timedelta(hours=3)
    Delivery.objects.filter(pk=row.pk).update(key_first_used_at=earlier)
    sweep()

    row.refresh_from_db()
    assert row.status == "unknown"
    assert "no longer protects" in row.cause
    assert recipient.submissions(ROOM) == 1


def unknown_and_paused(recipient: Simulator) -> list[Delivery]:
    """An unknown one whose own same key has not been used yet: its pause is not over."""
    from ledgers.models import Channel

    Channel.objects.update(retry_schedule=[3600])
    return unknown(recipient)


def test_after_a_complete_search_it_is_sent_as_it_was_once(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient)
    row = absent(recipient)

    decisions.decide(alice, wish(Kind.SEND_AFTER_ABSENT), [row])
    let_undo_end(row)
    sweep()

    row.refresh_from_db()
    assert (row.status, row.generation, row.attempt_count) == ("delivered", 1, 2)
    assert recipient.effects(ROOM) == 1


def test_a_stale_search_is_no_ground_to_send_again(
    recipient: Simulator, alice: Person, settings: Settings
) -> None:
    channel(recipient)
    row = absent(recipient)
    settings.COUNTERFOIL_EVIDENCE_S = 0

    with pytest.raises(NotAllowedError, match="look again first"):
        decisions.decide(alice, wish(Kind.SEND_AFTER_ABSENT), [row])

    row.refresh_from_db()
    assert row.decision == ""
    assert Event.objects.filter(kind="refuse", delivery=row, actor="alice").exists()


def test_sending_what_may_have_arrived_takes_two_people_and_makes_a_marked_generation(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])
    sweep()
    assert recipient.submissions(ROOM) == 1

    done = decisions.approve(bob, asked.pk, "I called them")
    second = Delivery.objects.get(generation=2)
    let_undo_end(second)
    sweep()

    row.refresh_from_db()
    second.refresh_from_db()
    assert (asked.stage, done.stage, done.approved_by) == (Stage.REQUESTED, Stage.EXECUTED, "bob")
    assert (second.status, second.attempt_count) == ("delivered", 1)
    assert second.idempotency_key != row.idempotency_key
    newest = recipient.messages(ROOM)[0]
    assert RESENT_MARKER in newest["text"]
    assert newest["recognizer"] == second.recognizer != row.recognizer
    assert recipient.effects(ROOM) == 2


def test_what_the_second_generation_proves_ends_the_first(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])
    decisions.approve(bob, asked.pk)

    let_undo_end(Delivery.objects.get(generation=2))
    sweep()
    sweep()

    row.refresh_from_db()
    assert (row.status, row.attempt_count) == ("delivered", 1)
    assert not OutboxItem.objects.exists()


def test_no_machine_sends_a_generation_that_has_a_successor(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    recipient.behave(ROOM, "reset", "reset", "reset")
    record([ROOM])
    sweep()
    (row,) = deliveries()
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])
    decisions.approve(bob, asked.pk)

    let_undo_end(row, Delivery.objects.get(generation=2))
    sweep()

    first, second = deliveries()
    assert (first.status, first.attempt_count) == ("unknown", 1)
    assert first.withdrawn_at is not None
    assert (second.status, second.attempt_count) == ("unknown", 1)
    with pytest.raises(NotAllowedError, match="generation 2 stands in its place"):
        decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [first])


def test_who_asks_cannot_approve_not_even_a_superuser(recipient: Simulator) -> None:
    from tests.reviews.people import person

    root = person("root", superuser=True)
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    asked = decisions.decide(root, wish(Kind.SEND_OTHERWISE), [row])

    with pytest.raises(NotAllowedError, match="another person's approval"):
        decisions.approve(root, asked.pk)

    assert Delivery.objects.count() == 1
    assert Event.objects.filter(kind="refuse", actor="root").exists()


def test_a_destination_that_is_not_typed_is_not_asked_for(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)

    with pytest.raises(NotAllowedError, match=ROOM):
        decisions.decide(alice, wish(Kind.SEND_OTHERWISE, typed="room:osp"), [row])


def test_one_operator_alone_types_waits_ten_minutes_and_the_trail_says_one_person(
    recipient: Simulator, bob: Person, settings: Settings
) -> None:
    settings.COUNTERFOIL_APPROVERS = 1
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    asked = decisions.decide(bob, wish(Kind.SEND_OTHERWISE), [row])

    with pytest.raises(NotAllowedError, match="may be approved from"):
        decisions.approve(bob, asked.pk, typed=ROOM)
    Decision.objects.filter(pk=asked.pk).update(ripe_at=database_now())
    with pytest.raises(NotAllowedError, match="typed"):
        decisions.approve(bob, asked.pk, typed="")
    decisions.approve(bob, asked.pk, typed=ROOM)

    made = Event.objects.get(kind="record", delivery__generation=2)
    assert made.detail["people"] == "one person"


def test_a_request_is_void_when_anything_moved(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])
    decisions.decide(alice, wish(Kind.ARRIVED), [row])

    with pytest.raises(VoidError, match="moved"):
        decisions.approve(bob, asked.pk)

    asked.refresh_from_db()
    assert asked.stage == Stage.VOID
    assert Delivery.objects.count() == 1


def test_a_request_expires_after_an_hour(recipient: Simulator, alice: Person, bob: Person) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])
    Decision.objects.filter(pk=asked.pk).update(expires_at=database_now())

    with pytest.raises(NotAllowedError, match="within the hour"):
        decisions.approve(bob, asked.pk)

    asked.refresh_from_db()
    assert asked.stage == Stage.EXPIRED


def test_a_second_request_about_the_same_delivery_is_refused_naming_the_first(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])

    with pytest.raises(NotAllowedError, match="alice has asked to send again"):
        decisions.decide(bob, wish(Kind.SEND_OTHERWISE), [row])


def test_a_request_can_be_refused_with_a_reason(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])

    with pytest.raises(NotAllowedError, match="no reason"):
        decisions.refuse(bob, asked.pk, " ")
    done = decisions.refuse(bob, asked.pk, "they have it")

    assert (done.stage, done.answer) == (Stage.REFUSED, "they have it")
    with pytest.raises(NotAllowedError, match="refused by the second person"):
        decisions.approve(bob, asked.pk)


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


def failed(recipient: Simulator) -> Delivery:
    recipient.behave(ROOM, "422")
    record([ROOM])
    sweep()
    (row,) = deliveries()
    assert row.status == "failed"
    return row


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


def test_trying_again_while_a_worker_holds_it_is_refused_with_the_leases_end(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings={"dedupe_window_s": 7200, **BLIND})
    (row,) = unknown_and_paused(recipient)
    OutboxItem.objects.filter(pk=row.pk).update(
        leased=True, due_at=database_now() + timedelta(seconds=40)
    )

    with pytest.raises(NotAllowedError, match=r"a worker holds it until \d\d:\d\d:\d\d UTC"):
        decisions.decide(alice, wish(Kind.SEND_SAME_KEY), [row])


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


# --- Undo


def test_undo_in_time_restores_an_unknown_one_and_nothing_leaves(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings={"dedupe_window_s": 7200, **BLIND})
    (row,) = unknown_and_paused(recipient)
    decision = decisions.decide(alice, wish(Kind.SEND_SAME_KEY), [row])

    undone = decisions.undo(alice, decision.pk)
    sweep()

    row.refresh_from_db()
    assert (undone.stage, undone.rows.get().result) == (Stage.UNDONE, "undone")
    assert (row.status, row.decision, row.undo_until) == ("unknown", "", None)
    assert recipient.submissions(ROOM) == 1


def test_undo_of_a_second_generation_cancels_it_unsent_and_frees_the_first(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])
    decisions.approve(bob, asked.pk)

    decisions.undo(alice, asked.pk)
    sweep()

    first, second = deliveries()
    assert (first.status, first.withdrawn_at) == ("unknown", None)
    assert (second.status, second.attempt_count) == ("cancelled", 0)
    assert recipient.submissions(ROOM) == 1


def test_undo_of_a_try_again_lets_it_be_failed_as_before(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient)
    row = failed(recipient)
    decision = decisions.decide(alice, wish(Kind.TRY_AGAIN), [row])

    decisions.undo(alice, decision.pk)
    sweep()

    row.refresh_from_db()
    assert (row.status, row.attempt_count) == ("failed", 1)
    assert due(row) is None


def test_undo_is_refused_when_it_is_too_late(
    recipient: Simulator, alice: Person, settings: Settings
) -> None:
    settings.COUNTERFOIL_UNDO_S = 0
    channel(recipient)
    row = absent(recipient)
    decision = decisions.decide(alice, wish(Kind.SEND_AFTER_ABSENT), [row])
    sweep()

    with pytest.raises(NotAllowedError, match="too late"):
        decisions.undo(alice, decision.pk)

    assert recipient.effects(ROOM) == 1


def test_a_wake_up_does_not_shorten_the_undo(recipient: Simulator, alice: Person) -> None:
    channel(recipient)
    row = absent(recipient)
    decisions.decide(alice, wish(Kind.SEND_AFTER_ABSENT), [row])

    make_due(pk=row.pk)
    sweep()

    row.refresh_from_db()
    assert (row.status, row.attempt_count) == ("pending", 1)
    assert due(row) == row.undo_until


# --- Many at once


def test_an_incident_of_38_is_one_decision_with_a_result_for_each(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    rooms = [f"room:{n}" for n in range(38)]
    rows = unknown(recipient, *rooms, arrived=False)
    asked = decisions.decide(
        alice, wish(Kind.SEND_OTHERWISE, typed="38"), rows, about="the host was down"
    )

    decisions.approve(bob, asked.pk)
    let_undo_end(*Delivery.objects.filter(generation=2))
    sweep()

    assert {row.result for row in asked.rows.all()} == {"done"}
    assert [recipient.effects(room) for room in rooms] == [1] * 38
    assert set(Delivery.objects.values_list("status", flat=True)) <= {"delivered", "unknown"}
    assert Event.objects.filter(kind="decision_approve", detail__decision=asked.pk).count() == 38


def test_what_fell_into_the_incident_after_the_selection_is_not_acted_on(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings=BLIND)
    chosen = unknown(recipient, *(f"room:{n}" for n in range(37)))
    draft = select(alice, {row.pk: row.row_version for row in chosen})
    later = unknown(recipient, *(f"room:late{n}" for n in range(5)), run_id="run-2")

    done = decisions.request(alice, wish(Kind.LEAVE), draft.pk)

    assert done.rows.filter(result="done").count() == 37
    assert not Delivery.objects.filter(pk__in=[r.pk for r in later]).exclude(decision="").exists()
    told = Event.objects.filter(kind="decision_request", detail__decision=done.pk)
    assert set(told.values_list("delivery_id", flat=True)) == {row.pk for row in chosen}


def test_rows_that_moved_are_skipped_with_the_reason_and_the_others_go_on(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings=BLIND)
    rows = unknown(recipient, "room:a", "room:b", "room:c")
    draft = select(alice, {row.pk: row.row_version for row in rows})
    decisions.decide(alice, wish(Kind.ARRIVED), [rows[1]])

    done = decisions.request(alice, wish(Kind.LEAVE), draft.pk)

    assert [row.result for row in done.rows.all()] == ["done", "skipped", "done"]
    assert "moved" in done.rows.all()[1].why


def test_a_selection_is_capped_and_not_empty(alice: Person) -> None:
    with pytest.raises(InvalidValueError, match="1 to 500"):
        select(alice, {})
    with pytest.raises(InvalidValueError, match="are 501"):
        select(alice, dict.fromkeys(range(501), 1))


def test_somebody_elses_selection_cannot_be_decided_about(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    draft = select(alice, {row.pk: row.row_version})

    with pytest.raises(NotAllowedError, match="alice selected this"):
        decisions.request(bob, wish(Kind.LEAVE), draft.pk)
