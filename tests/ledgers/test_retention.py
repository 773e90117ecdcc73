"""What may leave the record, what stays of it, and that nothing is hidden or sent by that."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from delivery import agent
from ledgers import evidence, moves, retention, sealcheck, seals, verify
from ledgers.errors import PurgedError
from ledgers.models import (
    Attempt,
    Delivery,
    DeliveryTombstone,
    Event,
    Message,
    OutboxItem,
    Purge,
    Run,
    RunTombstone,
    Step,
)
from ledgers.states import DeliveryStatus as S
from tests.factories import make_channel, message, record
from tests.ledgers.connections import other_thread, second_connection, wait_until_blocked
from tests.ledgers.old import DAY_S, POLICY_S, age, old_run
from tests.ledgers.rows import change_of, row_in

pytestmark = pytest.mark.django_db
TABLES = (Run, Step, Message, Delivery, Attempt)


@pytest.fixture(autouse=True)
def alerts(request: pytest.FixtureRequest) -> None:
    request.getfixturevalue("_django_db_helper")
    make_channel()


def purge(*runs: Run, policy_s: float = POLICY_S) -> Purge:
    receipts, kept = retention.purge([run.pk for run in runs], policy_s, "ada", "the year is over")
    assert kept == []
    return receipts[0]


def why_kept(run: Run) -> str:
    receipts, kept = retention.purge([run.pk], POLICY_S, "ada", "the year is over")
    assert receipts == []
    return kept[0][1]


def execute(sql: str, *parameters: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)


@contextmanager
def lifted() -> Iterator[None]:
    """As a superuser can who lifts the triggers."""
    execute("SET LOCAL session_replication_role = replica")
    yield
    execute("SET LOCAL session_replication_role = origin")


def broken() -> dict[str, tuple[str, ...]]:
    return {verdict.name: verdict.offenders for verdict in verify.broken(verify.verify())}


def test_a_run_that_is_over_goes_with_all_its_rows_and_leaves_receipt_and_tombstones() -> None:
    run = old_run()
    row = Delivery.objects.get()
    young = row_in(S.DELIVERED, "R-young")

    receipt = purge(run)

    stone = RunTombstone.objects.get()
    assert [model.objects.count() for model in TABLES] == [1, 1, 1, 1, 1]
    assert (stone.run_id, stone.status, stone.purge) == ("R-old", "completed", receipt)
    left = DeliveryTombstone.objects.get()
    assert (left.delivery_id, left.status) == (row.delivery_id, "delivered")
    assert set(Event.objects.exclude(kind="purge").values_list("run__run_id", flat=True)) <= {
        "R-young",
        None,
    }
    assert Delivery.objects.get() == young


def test_the_receipt_is_an_event_with_counts_policy_who_why_and_the_newest_seal() -> None:
    run = old_run()
    newest = seals.newest()

    receipt = purge(run)

    event = Event.objects.get(kind="purge")
    counts = {"runs": 1, "deliveries": 1, "attempts": 1, "evidence": 0}
    assert event.actor == "ada"
    assert event.detail | counts == event.detail
    assert event.detail["events"] == len(receipt.events) > 4
    assert event.detail["policy_days"] == 30
    assert event.detail["reason"] == "the year is over"
    assert event.detail["seal"] == str(newest)


def test_seals_hold_after_a_purge_and_the_leaves_stay() -> None:
    old_run("R-1")
    second = old_run("R-2")
    anchor = seals.newest()

    purge(Run.objects.get(run_id="R-1"), second)
    seals.seal_all()

    assert broken() == {}
    assert anchor is not None
    assert sealcheck.holds_anchor(anchor)


@pytest.mark.parametrize("status", [S.DELIVERED, S.FAILED, S.CANCELLED])
def test_what_came_to_rest_may_go(status: S) -> None:
    purge(old_run(status=status))

    assert not Delivery.objects.exists()


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (S.PENDING, "is pending"),
        (S.SUBMITTING, "is submitting"),
        (S.UNKNOWN, "is unknown"),
        (S.EXPIRED, "expired, and nobody decided"),
    ],
)
def test_what_is_open_or_undecided_is_kept_however_old_it_is(status: S, said: str) -> None:
    """A record that was 31 days old, and being sent, was pruned: the field case."""
    run = old_run(status=status, days=400)

    assert said in why_kept(run)
    assert Delivery.objects.count() == 1


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("UPDATE ledgers_delivery SET disputed_at = now()", "is disputed"),
        ("UPDATE ledgers_delivery SET finished_at = now()", "after the policy's line"),
        ("UPDATE ledgers_run SET finished_at = now()", "ended after the policy's line"),
        ("UPDATE ledgers_run SET finished_at = NULL, status = 'running'", "it is running"),
        ("UPDATE ledgers_run SET finished_at = NULL, status = 'crash_loop'", "it is crash_loop"),
        ("UPDATE ledgers_delivery SET decision = 'leave', decided_at = now()", "policy's line"),
    ],
)
@pytest.mark.unverified_ledgers
def test_a_run_is_kept_for_each_reason(sql: str, said: str) -> None:
    run = old_run()

    execute(sql)

    assert said in why_kept(run)


@pytest.mark.unverified_ledgers
def test_a_key_that_still_protects_outlives_the_policy() -> None:
    run = old_run(sealed=False)
    with lifted():
        execute(
            "UPDATE ledgers_message SET contract = jsonb_set(contract, '{window,seconds}', %s)",
            str(50 * DAY_S),
        )
    seals.seal_all()

    assert "still protects" in why_kept(run)


def test_a_message_that_a_step_still_owes_keeps_its_run() -> None:
    with agent.run("R-owes", agent="tester") as run:
        run.step("write").complete({}, announces=["digest"])
    age("R-owes", 40)
    seals.seal_all()

    assert "still owes digest" in why_kept(Run.objects.get())


def test_what_waits_for_its_seal_is_kept() -> None:
    run = old_run(sealed=False)

    assert "waits for its seal" in why_kept(run)


@pytest.mark.unverified_ledgers
def test_a_purge_hides_no_edit_the_run_is_kept_as_proof() -> None:
    run, fine = old_run("R-1"), old_run("R-2")
    with lifted():
        execute(
            "UPDATE ledgers_event SET actor = 'nobody' WHERE kind = 'open_run' AND run_id = %s",
            run.pk,
        )

    receipts, kept = retention.purge([run.pk, fine.pk], POLICY_S, "ada", "the year is over")

    assert [name for name, _ in kept] == ["R-1"]
    assert "is not what was sealed" in kept[0][1]
    assert [one.runs for one in receipts] == [[fine.pk]]


@pytest.mark.unverified_ledgers
def test_what_was_removed_under_a_forged_receipt_is_named() -> None:
    purge(old_run("R-1"))
    record(run_id="R-2")
    seals.seal_all()
    gone = Event.objects.get(kind="open_run").pk

    with lifted():
        execute("DELETE FROM ledgers_event WHERE id = %s", gone)
        execute("UPDATE ledgers_purge SET events = events || %s::bigint", gone)

    assert broken()["purges-have-their-receipts"] == (
        f"receipt {Purge.objects.get().pk} is not what its event says",
    )


@pytest.mark.unverified_ledgers
def test_a_forged_tombstone_is_named() -> None:
    purge(old_run())

    with lifted():
        execute("UPDATE ledgers_deliverytombstone SET status = 'failed'")

    assert "purges-have-their-receipts" in broken()


@contextmanager
def refused(words: str) -> Iterator[None]:
    with pytest.raises(IntegrityError, match=words), transaction.atomic():
        yield


@pytest.mark.parametrize(
    "table", ["event", "evidence", "attempt", "delivery", "message", "step", "run"]
)
def test_the_setting_by_hand_deletes_nothing_that_no_receipt_names(table: str) -> None:
    purge(old_run("R-1"))
    row_in(S.DELIVERED, "R-2")
    execute(
        "INSERT INTO ledgers_evidence (delivery_id, taken_at, method, verdict, searched, why,"
        " pages, provider_message_id, response, seen_by) SELECT id, clock_timestamp(),"
        " 'operator', 'inconclusive', '', '', 0, '', '', 'ada' FROM ledgers_delivery"
    )

    for receipt in (str(Purge.objects.get().pk), "999", "on"):
        with refused("is refused: no receipt names"):
            execute("SELECT set_config('counterfoil.purging', %s, true)", receipt)
            execute(f"DELETE FROM ledgers_{table} WHERE id > 0")


def test_a_receipt_by_hand_goes_through_the_same_gate() -> None:
    row_in(S.PENDING, "R-1")

    with refused("run R-1 is kept: "):
        execute(
            "INSERT INTO ledgers_purge (at, actor, reason, policy_s, runs, events, attempts,"
            " evidence) SELECT now(), 'eve', 'because', 86400, ARRAY[id], '{}', '{}', '{}'"
            " FROM ledgers_run"
        )


@pytest.mark.parametrize(
    ("policy_s", "who", "why", "said"),
    [
        (DAY_S - 1, "ada", "old", "at least the last day"),
        (POLICY_S, "ada", " ", "needs a reason"),
        (POLICY_S, "", "old", "needs a reason"),
    ],
)
def test_a_purge_needs_a_day_a_name_and_a_reason(
    policy_s: float, who: str, why: str, said: str
) -> None:
    run = old_run()

    with refused(said):
        execute("SELECT ledgers_purge(ARRAY[%s], %s, %s, %s)", run.pk, policy_s, who, why)


@pytest.mark.parametrize("table", ["purge", "runtombstone", "deliverytombstone"])
@pytest.mark.parametrize("verb", ["DELETE FROM {}", "UPDATE {} SET {}"])
def test_receipt_and_tombstones_are_append_only(table: str, verb: str) -> None:
    purge(old_run())
    column = "reason = ''" if table == "purge" else "status = 'failed'"

    with refused("what was purged is on record"):
        execute(verb.format(f"ledgers_{table}", column))


def test_a_step_that_is_executed_again_after_the_purge_sends_nothing() -> None:
    purge(old_run("R-old"))

    with (
        pytest.raises(PurgedError, match=r"run 'R-old' was completed on .* \(receipt \d+\)"),
        agent.run("R-old", agent="tester") as run,
    ):
        run.step("write").complete({"done": True}, [message()])

    assert not Delivery.objects.exists()


def test_a_trigger_that_comes_again_after_the_purge_begins_nothing() -> None:
    with agent.run("R-1", agent="tester", trigger_key="slot-7") as run:
        run.step("write").complete({})
    age("R-1", 40)
    seals.seal_all()
    purge(Run.objects.get())

    with pytest.raises(PurgedError), agent.run("R-2", agent="tester", trigger_key="slot-7"):
        pass


def test_the_database_refuses_the_name_of_a_purged_run_whoever_writes_it() -> None:
    purge(old_run("R-old"))

    with refused("run R-old is over"):
        execute(
            "INSERT INTO ledgers_run (run_id, agent, status, duplicate_triggers, error)"
            " VALUES ('R-old', 'a', 'running', 0, '')"
        )


@pytest.mark.django_db(transaction=True)
def test_who_holds_a_row_of_a_run_keeps_it_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    run, free = old_run("R-1"), old_run("R-2")
    monkeypatch.setattr(retention, "LOCK_TIMEOUT", "50ms")
    with second_connection() as other:
        other.execute("SELECT FROM ledgers_run WHERE run_id = 'R-1' FOR UPDATE")

        receipts, kept = retention.purge([run.pk, free.pk], POLICY_S, "ada", "the year is over")

    assert kept == [("R-1", "somebody else holds a row of it")]
    assert [one.runs for one in receipts] == [[free.pk]]


@pytest.mark.django_db(transaction=True)
def test_an_agent_that_opens_the_run_while_it_is_purged_is_refused() -> None:
    run = old_run("R-old")

    def open_again() -> None:
        with agent.run("R-old", agent="tester"):
            pass

    with other_thread() as thread:
        with transaction.atomic():
            purge(run)
            opening = thread.submit(open_again)
            wait_until_blocked()
        with pytest.raises(Exception, match=r"purged|removed|does not exist"):
            opening.result()

    assert not Run.objects.exists()


def test_2001_rows_that_ended_fill_no_quota_and_recording_goes_on() -> None:
    """Ended rows filled a quota of 2,000, and every new send failed: the field case."""
    rows = record([f"tg:{n}" for n in range(2001)], run_id="R-many")
    evidence.withdraw((row.pk for row in rows), "ada", "not wanted")
    first = change_of(rows[0])
    moves.cancel([replace(first, id=row.pk) for row in rows])

    row = record(run_id="R-next")[0]

    assert Delivery.objects.filter(status="cancelled").count() == 2001
    assert row.status == "pending"
    assert OutboxItem.objects.get().delivery_id == row.pk


def test_batches_look_at_everything_that_ended_and_say_what_is_kept() -> None:
    old_run("R-1")
    old_run("R-2", S.UNKNOWN)
    old_run("R-3", days=20)
    old_run("R-4")

    (batch,) = retention.batches(POLICY_S)

    names = set(Run.objects.filter(pk__in=batch.runs).values_list("run_id", flat=True))
    assert names == {"R-1", "R-4"}
    assert batch.deliveries == 2
    ((name, why),) = batch.kept
    assert (name, why.endswith("is unknown")) == ("R-2", True)


def test_batches_are_bounded_by_deliveries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH_DELIVERIES", 1)
    for n in range(3):
        old_run(f"R-{n}")

    assert [len(batch.runs) for batch in retention.batches(POLICY_S)] == [1, 1, 1]
