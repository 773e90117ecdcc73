"""The queue: leases by the database's clock, each with a fence of its own."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from ledgers import evidence, outbox
from ledgers.clock import database_now
from ledgers.models import Channel, Delivery, OutboxItem
from ledgers.states import DeliveryStatus as S
from tests.factories import make_channel, make_due, record
from tests.ledgers.connections import second_connection
from tests.ledgers.rows import change_of, columns, last_event, lease, row_in

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def alerts() -> Channel:
    return make_channel(lease_s=60)


@pytest.fixture
def rows() -> list[Delivery]:
    return record([f"tg:{n}" for n in range(5)])


def claim(limit: int = 100) -> list[outbox.Claimed]:
    return outbox.claim({Channel.objects.get(slug="alerts").pk: limit})


def test_a_claim_leases_what_is_due_for_as_long_as_the_channel_says(
    rows: Sequence[Delivery],
) -> None:
    before = database_now()

    claimed = claim()

    assert {item.delivery_id for item in claimed} == {row.pk for row in rows}
    for item in claimed:
        assert timedelta(seconds=60) <= item.lease_until - before < timedelta(seconds=70)
        kept = OutboxItem.objects.get(pk=item.delivery_id)
        assert (kept.leased, kept.due_at) == (True, item.lease_until)


def test_one_worker_that_claims_twice_at_once_gets_nothing_the_second_time(
    rows: Sequence[Delivery],
) -> None:
    first, second = claim(10), claim(10)

    assert len({item.delivery_id for item in first}) == len(first) == len(rows)
    assert second == []


def test_a_claim_takes_the_longest_due_first_and_no_more_than_its_share(
    rows: Sequence[Delivery],
) -> None:
    OutboxItem.objects.filter(pk=rows[3].pk).update(due_at=database_now() - timedelta(hours=1))

    claimed = claim(1)

    assert [item.delivery_id for item in claimed] == [rows[3].pk]


def test_a_claim_without_a_share_asks_the_database_nothing() -> None:
    assert outbox.claim({}) == outbox.claim({1: 0, 2: -3}) == []


def test_every_lease_has_a_fence_of_its_own_and_fences_never_start_again(
    rows: Sequence[Delivery],
) -> None:
    fences = [item.fence for item in claim()]
    make_due()
    fences += [item.fence for item in claim()]
    OutboxItem.objects.all().delete()
    outbox.wake(row.pk for row in rows)
    later = [item.fence for item in claim()]

    assert len({*fences, *later}) == 15
    assert min(later) > max(fences)


def test_an_abandoned_item_becomes_due_by_itself(rows: Sequence[Delivery]) -> None:
    claim()
    assert claim() == []

    make_due(pk=rows[0].pk)

    assert [item.delivery_id for item in claim()] == [rows[0].pk]


def test_a_lease_does_not_move_the_time_at_which_the_ledger_owes_it(
    rows: Sequence[Delivery],
) -> None:
    before = rows[0].next_attempt_at

    claim()

    rows[0].refresh_from_db()
    assert rows[0].next_attempt_at == before


@pytest.mark.django_db(transaction=True)
def test_two_claims_at_the_same_moment_skip_each_other(rows: Sequence[Delivery]) -> None:
    with second_connection() as other, transaction.atomic():
        ours = claim(2)
        with other.cursor() as cursor:
            cursor.execute(outbox._CLAIM, [[Channel.objects.get().pk], [100]])
            theirs = [outbox.Claimed(*row) for row in cursor.fetchall()]
        other.commit()

    assert (len(ours), len(theirs)) == (2, 3)
    assert {item.delivery_id for item in [*ours, *theirs]} == {row.pk for row in rows}
    assert len({item.fence for item in [*ours, *theirs]}) == 5


@pytest.mark.django_db(transaction=True)
def test_a_lease_is_counted_by_the_clock_also_in_a_transaction_that_began_long_ago(
    rows: Sequence[Delivery],
) -> None:
    # To a session that began before, `now()` stands still: the item would seem not yet due, or
    # its lease would begin in the past and a second worker could take it.
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        with second_connection() as other:
            other.execute("UPDATE ledgers_outboxitem SET due_at = clock_timestamp()")
            other.commit()
        (item, *_) = claim()
        cursor.execute("SELECT now() + interval '60 seconds'")
        assert item.lease_until > cursor.fetchone()[0]

    assert len(rows) == 5


@pytest.mark.usefixtures("rows")
def test_a_claim_goes_to_what_is_due_by_the_index_and_does_not_read_what_is_not() -> None:
    # With the bare clock, which is asked anew for each row, all of a channel's items are read.
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(
            f"EXPLAIN (FORMAT JSON) {outbox._CLAIM}", [[Channel.objects.get().pk], [100]]
        )
        ((plans,),) = cursor.fetchall()

    (due,) = [node for node in _nodes(plans[0]["Plan"]) if node.get("Index Name") == "outbox_due"]
    assert "due_at <=" in due["Index Cond"]


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


@pytest.mark.parametrize("zone", ["America/Sao_Paulo", "Asia/Kolkata"])
def test_the_time_zone_of_the_session_changes_no_lease(rows: Sequence[Delivery], zone: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('TimeZone', %s, true)", [zone])

    claimed = claim()

    assert len(claimed) == len(rows)
    assert claim() == []
    assert all(timedelta(0) < c.lease_until - c.now <= timedelta(seconds=60) for c in claimed)


def test_postponing_hands_the_item_back_until_then_and_says_why() -> None:
    row = row_in(S.PENDING)
    lease(row)
    until = database_now() + timedelta(minutes=5)

    change = change_of(row, due_at=until)
    kept = outbox.postpone([replace(change, fence=row.fence)])

    row.refresh_from_db()
    assert kept == {row.pk}
    assert (row.next_attempt_at, row.outbox_item.due_at) == (until, until)
    assert (row.outbox_item.leased, row.cause) == (False, "tested: because")


def test_being_held_is_told_in_the_trail_once_per_reason() -> None:
    row = row_in(S.PENDING)
    reasons = ["held: paused", "held: paused", "held: not ready"]

    for reason in reasons:
        lease(row)
        change = change_of(row, rule="held", cause=reason, due_at=database_now(), inputs="{}")
        outbox.postpone([replace(change, fence=row.fence)])

    row.refresh_from_db()
    held = row.events.filter(kind="hold")
    assert row.cause == "held: not ready"
    assert [(e.rule, e.from_status, e.row_version) for e in held] == [("held", S.PENDING, None)] * 2


def test_postponing_needs_the_fence_and_the_version() -> None:
    row = row_in(S.PENDING)
    lease(row)
    good = change_of(row, due_at=database_now())
    good = replace(good, fence=row.fence)
    before = columns(row)

    kept = outbox.postpone([replace(good, fence=row.fence - 1), replace(good, version=9)])

    assert kept == set()
    assert columns(row) == before


def test_releasing_needs_the_fence(rows: Sequence[Delivery]) -> None:
    fences = {item.delivery_id: item.fence for item in claim()}
    stale, good = rows[0], rows[1]
    before = columns(stale)

    outbox.release({stale.pk: fences[stale.pk] - 1, good.pk: fences[good.pk]})

    assert columns(stale) == before
    assert [item.delivery_id for item in claim()] == [good.pk]


def test_waking_makes_open_rows_due_and_leaves_leased_ones_alone(rows: Sequence[Delivery]) -> None:
    leased, waiting = rows[0], rows[1]
    OutboxItem.objects.exclude(pk=leased.pk).update(due_at=database_now() + timedelta(hours=1))
    claim()
    before = columns(leased)

    woken = outbox.wake([leased.pk, waiting.pk])

    assert woken == 1
    assert columns(leased) == before
    assert [item.delivery_id for item in claim()] == [waiting.pk]


def test_waking_puts_back_an_open_row_that_waited_for_a_person_and_no_ended_one() -> None:
    asked, ended = row_in(S.UNKNOWN, "run-1"), row_in(S.DELIVERED, "run-2")
    outbox.hand_over([change_of(asked)], "ask")
    assert not OutboxItem.objects.exists()

    woken = outbox.wake([asked.pk, ended.pk])

    assert woken == 1
    assert [item.delivery_id for item in claim()] == [asked.pk]


def test_waking_the_next_part_leaves_it_alone_while_somebody_holds_it() -> None:
    make_channel("parts", settings={"path": "tests.delivery.senders.send", "part_limit": 4})
    first, second = record(content="abcdefgh", channel="parts", run_id="run-2")
    OutboxItem.objects.update(due_at=database_now() + timedelta(hours=1))

    outbox.wake_next_parts([first.pk])
    woken = columns(second)["item"]["due_at"] <= database_now()
    lease(second)
    before = columns(second)
    outbox.wake_next_parts([first.pk])

    assert woken
    assert columns(second) == before


def test_handing_over_to_a_person_leaves_the_status_and_writes_why() -> None:
    row = row_in(S.UNKNOWN)

    done = outbox.hand_over([change_of(row, rule="blocked", cause="blocked: who knows")], "ask")

    row.refresh_from_db()
    event = last_event(row)
    assert done == {row.pk}
    assert (row.status, row.cause, row.next_attempt_at) == (S.UNKNOWN, "blocked: who knows", None)
    assert (event.kind, event.rule, event.from_status, event.to_status) == (
        "ask", "blocked", "unknown", "unknown",
    )  # fmt: skip
    assert not OutboxItem.objects.exists()


def test_a_fact_raises_the_version_so_that_what_was_decided_without_it_changes_nothing() -> None:
    row = row_in(S.PENDING)
    lease(row)
    decided = change_of(row, due_at=database_now())

    evidence.withdraw([row.pk], "ada", "not wanted")

    assert outbox.postpone([replace(decided, fence=row.fence)]) == set()
