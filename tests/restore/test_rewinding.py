"""What a restore does to every row, and how each of them is settled afterwards."""

from datetime import timedelta

import pytest

from delivery import lifting
from delivery.simulator.client import Simulator
from ledgers.clock import database_now
from ledgers.models import Attempt, Channel, Delivery, Event, Installation, OutboxItem
from ledgers.verify import broken, verify
from reviews import decisions
from reviews.errors import NotAllowedError
from reviews.kinds import Kind
from reviews.people import Person
from tests.delivery.senders import Desk
from tests.delivery.waves import take_call
from tests.factories import deliveries, delivery, make_due, record, sweep
from tests.restore.backups import Backup
from tests.restore.scenes import let_old_leases_end, lift, lose, release, whole
from tests.reviews.scenes import BLIND, ROOM, channel, failed, let_undo_end, unknown, wish

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_ended_before_the_backup_stays_as_it_ended(alerts: Channel, desk: Desk) -> None:
    """C121: what was done, failed or expired does not become due again."""
    desk.script("tg:refused", *[ValueError("no")] * 9)
    record(["tg:done"], run_id="done")
    record(["tg:old"], run_id="old", not_after=database_now() - timedelta(seconds=1))
    sweep()
    ended = {row.pk: row.row_version for row in Delivery.objects.filter(finished_at__isnull=False)}

    lose(["tg:1"])

    after = Delivery.objects.filter(pk__in=ended)
    assert {row.status for row in after} == {"delivered", "expired"}
    assert {row.pk: row.row_version for row in after} == ended
    assert not after.filter(rewound_at__isnull=False).exists()
    assert not OutboxItem.objects.filter(pk__in=ended).exists()
    assert desk.effects("tg:done") == 1


def test_what_was_on_the_wire_when_the_backup_was_made_is_unknown(
    alerts: Channel, desk: Desk
) -> None:
    """C119: submitting in the backup is unknown after it, whoever held it then."""
    record(["tg:1"])
    take_call()
    backup = Backup.now()
    sweep()
    make_due()

    backup.restore()
    sweep()

    row = delivery("tg:1")
    assert (row.status, row.rewound_at is not None) == ("unknown", True)
    assert len(desk.received) == 0


def test_the_destination_is_searched_first_and_what_is_found_is_delivered_under_the_hold(
    recipient: Simulator,
) -> None:
    channel(recipient, look_up_schedule=[0])
    lose([ROOM])
    let_old_leases_end()

    sweep()

    row = delivery(ROOM)
    assert (row.status, row.attempt_count) == ("delivered", 0)
    assert whole().restoring
    assert (recipient.effects(ROOM), recipient.submissions(ROOM)) == (1, 1)


def test_what_a_search_cannot_find_is_asked_about_and_never_sent_by_itself(
    recipient: Simulator,
) -> None:
    channel(recipient, look_up_schedule=[0])
    lose([ROOM], meanwhile=work_on_another)
    let_old_leases_end()

    sweep()
    lift()
    sweep()

    row = delivery(ROOM)
    assert (row.status, row.cause.partition(":")[0]) == ("pending", "absent")
    assert recipient.submissions(ROOM) == 0


def work_on_another() -> None:
    """What was lost: a worker that worked, and not on this delivery."""
    record(["room:other"], run_id="other")
    OutboxItem.objects.exclude(delivery__destination="room:other").update(
        due_at=database_now() + timedelta(hours=1)
    )
    sweep()


def test_the_same_key_goes_out_again_only_after_the_hold_and_within_the_window_of_the_restore_point(
    recipient: Simulator,
) -> None:
    """Its first use counts from the restore point, not from now."""
    recipient.behave(ROOM, dedupe_s=3600)
    channel(recipient, settings=BLIND | {"dedupe_window_s": 3600}, lease_s=3)
    lose([ROOM])
    let_old_leases_end()
    sweep()
    held = (delivery(ROOM).status, recipient.submissions(ROOM))

    lift()
    make_due()
    sweep()

    assert held == ("unknown", 1)
    assert (delivery(ROOM).status, recipient.submissions(ROOM)) == ("delivered", 2)
    assert recipient.effects(ROOM) == 1


def test_a_restore_point_older_than_the_window_leaves_it_to_a_person(recipient: Simulator) -> None:
    recipient.behave(ROOM, dedupe_s=3600)
    channel(recipient, settings=BLIND | {"dedupe_window_s": 3600}, lease_s=3)
    lose([ROOM])
    let_old_leases_end()
    Delivery.objects.update(rewound_from=database_now() - timedelta(hours=2))

    lift()
    sweep()

    row = delivery(ROOM)
    assert (row.status, row.cause.partition(":")[0]) == ("unknown", "blocked")
    assert recipient.submissions(ROOM) == 1


def test_the_restore_point_is_the_last_moment_at_which_a_worker_knew_the_database(
    alerts: Channel, desk: Desk
) -> None:
    """What agents record after the restore, before a worker comes, is no such moment."""
    sweep()
    known = database_now()
    record(["tg:1"])
    backup = Backup.now()
    sweep()
    backup.restore()
    record(["tg:2"], run_id="after")

    sweep()

    point = whole().restore_point
    assert point is not None
    assert point <= known
    assert delivery("tg:1").rewound_from == point


def test_a_decision_of_before_is_used_up(recipient: Simulator, alice: Person) -> None:
    """What somebody let be sent before the backup may have been, in the time that is lost."""
    recipient.behave(ROOM, dedupe_s=60)
    channel(recipient, settings=BLIND | {"dedupe_window_s": 60}, retry_schedule=[3600])
    (row,) = unknown(recipient)
    decisions.decide(alice, wish(Kind.SEND_SAME_KEY), [row])
    backup = Backup.now()
    let_undo_end(row)
    sweep()
    backup.restore()

    sweep()

    row.refresh_from_db()
    assert (row.status, row.decision, row.undo_until) == ("unknown", "", None)


def test_what_a_person_left_stays_left(recipient: Simulator, alice: Person) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    decisions.decide(alice, wish(Kind.LEAVE), [row])
    lifting.declare_restored("a dump", "tester")

    sweep()
    lift()
    sweep()

    row.refresh_from_db()
    assert (row.status, row.decision) == ("unknown", "leave")
    assert recipient.submissions(ROOM) == 1


def test_a_second_restore_goes_back_to_the_first_restore_point(alerts: Channel, desk: Desk) -> None:
    lose(["tg:1"])
    first = whole().restore_point
    lifting.declare_restored("once more", "ann")

    sweep()

    assert (whole().epoch, whole().restore_point) == (3, first)
    assert delivery("tg:1").rewound_from == first
    assert Event.objects.filter(kind="rewind").count() == 2


# --- What people do about it


def test_two_people_release_what_was_not_sent_and_it_goes_out_once_under_its_own_key(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    lose([ROOM], meanwhile=work_on_another)
    let_old_leases_end()
    (row,) = deliveries()
    key = row.idempotency_key

    release(alice, bob, [row])
    sweep()
    under_the_hold = recipient.submissions(ROOM)
    lift()
    sweep()

    row.refresh_from_db()
    assert under_the_hold == 0
    assert (row.status, row.generation, row.idempotency_key) == ("delivered", 1, key)
    assert recipient.effects(ROOM) == 1
    assert Event.objects.get(kind="unwind").detail["people"] == "two people"


def test_a_release_can_be_taken_back_and_is_in_doubt_again(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    lose([ROOM])
    let_old_leases_end()
    (row,) = deliveries()
    asked = decisions.decide(alice, wish(Kind.RELEASE), [row])
    decisions.approve(bob, asked.pk)
    sweep()
    row.refresh_from_db()
    released = (row.status, row.rewound_at)

    decisions.undo(alice, asked.pk)
    sweep()

    row.refresh_from_db()
    assert released == ("pending", None)
    assert (row.status, row.rewound_at is not None) == ("unknown", True)
    assert recipient.submissions(ROOM) == 1


def test_who_asked_cannot_release_alone(recipient: Simulator, bob: Person) -> None:
    channel(recipient, settings=BLIND)
    lose([ROOM])
    let_old_leases_end()
    asked = decisions.decide(bob, wish(Kind.RELEASE), deliveries())

    with pytest.raises(NotAllowedError, match="who asked for it cannot approve it"):
        decisions.approve(bob, asked.pk)


def test_nobody_releases_what_a_worker_of_before_may_still_send(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings=BLIND)
    lose([ROOM])

    with pytest.raises(NotAllowedError, match="a worker of before the restore may send it until"):
        decisions.decide(alice, wish(Kind.RELEASE), deliveries())


def test_where_it_can_be_searched_it_is_before_anybody_releases_it(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, look_up_schedule=[0])
    lose([ROOM])
    let_old_leases_end()

    with pytest.raises(NotAllowedError, match="has not been searched since the restore"):
        decisions.decide(alice, wish(Kind.RELEASE), deliveries())


def test_an_attempt_on_record_is_in_doubt_even_if_nothing_was_forgotten(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    lifting.declare_restored("a dump", "tester")
    sweep()
    let_old_leases_end()
    row.refresh_from_db()

    with pytest.raises(NotAllowedError, match="it would still not be sent"):
        decisions.decide(alice, wish(Kind.RELEASE), [row])
    assert Attempt.objects.count() == 1
    assert Installation.objects.get().restoring


def test_what_had_ended_may_have_been_tried_again_in_the_time_that_is_lost(
    recipient: Simulator, alice: Person
) -> None:
    """It says "provably not sent", and a person believes it a second time."""
    channel(recipient, settings=BLIND)
    row = failed(recipient)
    backup = Backup.now()
    recipient.behave(ROOM, "accept")
    decisions.decide(alice, wish(Kind.TRY_AGAIN), [row])
    let_undo_end(row)
    sweep()
    assert recipient.effects(ROOM) == 1
    backup.restore()
    sweep()
    lift()
    row.refresh_from_db()

    decisions.decide(alice, wish(Kind.TRY_AGAIN), [row])
    let_undo_end(row)
    sweep()

    row.refresh_from_db()
    assert recipient.effects(ROOM) == 1
    assert (row.status, row.rewound_at is not None) == ("unknown", True)


def test_a_second_copy_may_be_decided_on_under_the_hold_and_goes_after_it(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    lose([ROOM])
    (row,) = deliveries()

    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])
    decisions.approve(bob, asked.pk)
    let_undo_end(*deliveries())
    sweep()
    under_the_hold = recipient.effects(ROOM)

    assert broken(verify()) == []
    lift()
    sweep()
    assert (under_the_hold, recipient.effects(ROOM)) == (1, 2)
    assert {one.status for one in deliveries()} == {"delivered"}
