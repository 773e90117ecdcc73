"""`reconcile`, `cancel`, `resolve_run`, `verify_ledgers`, `draw_states`, `workers`."""

from datetime import timedelta

import pytest

from delivery.models import Worker
from delivery.silence import SILENT_S
from delivery.simulator.client import Simulator
from ledgers.clock import database_now
from ledgers.models import Channel, Delivery, Event, Evidence, OutboxItem, Run
from ledgers.states import RunStatus
from reviews.liveness import signs
from tests.commands.shell import typed
from tests.factories import deliveries, delivery, make_channel, record, sweep


def test_reconcile_finds_what_arrived_and_nothing_is_sent(
    unknown: Delivery, recipient: Simulator
) -> None:
    looked = typed("reconcile")

    assert looked.code == 0
    assert "1 looked at: 1 settled, 0 still unknown" in looked.out
    assert delivery("room:ops").status == "delivered"
    assert recipient.submissions("room:ops") == 1


def test_reconcile_leaves_unknown_what_it_cannot_tell_and_says_what_was_asked(
    unknown: Delivery, recipient: Simulator
) -> None:
    recipient.behave("room:ops", look_up="error", listing="error")

    looked = typed("reconcile", "--delivery", unknown.recognizer, "--json")

    assert looked.code == 1
    (one,) = looked.json["deliveries"]
    assert one["status"] == "unknown"
    assert {finding["verdict"] for finding in one["findings"]} == {"inconclusive"}
    assert all(recipient.url in finding["searched"] for finding in one["findings"])


def test_reconcile_leaves_to_a_worker_what_a_worker_holds(unknown: Delivery) -> None:
    OutboxItem.objects.update(leased=True)

    looked = typed("reconcile")

    assert looked.code == 1
    assert "a worker holds it now" in looked.out
    assert not Evidence.objects.exists()


def test_reconcile_does_not_pretend_to_search_where_nothing_can_be_searched(
    transactional_db: None, recipient: Simulator
) -> None:
    blind = {"look_up_by_key": False, "look_up_by_id": False, "scan": False}
    make_channel(adapter="simulator", settings={"url": recipient.url, **blind})
    recipient.behave("room:ops", "accept_and_reset")
    record(["room:ops"])
    sweep()

    looked = typed("reconcile", "--channel", "alerts")

    assert looked.code == 1
    assert "its channel cannot be searched" in looked.out
    assert not Evidence.objects.exists()


def test_reconcile_of_what_is_not_unknown_is_a_misuse(alerts: Channel) -> None:
    (row,) = record(["room:a"])

    refused = typed("reconcile", "--delivery", str(row.delivery_id))

    assert (refused.code, "is pending" in refused.err) == (2, True)
    assert typed("reconcile").out == "nothing is unknown\n"


def test_cancel_in_time_is_fine_and_the_reason_is_kept(alerts: Channel) -> None:
    record(["room:a", "room:b"])

    said = typed("cancel", "run-1", "--destination", "room:a", "--reason", "wrong figures")

    assert said.code == 0
    assert "1 cancelled in time" in said.out
    assert [row.status for row in deliveries()] == ["cancelled", "pending"]
    assert Event.objects.filter(detail__reason="wrong figures").exists()


def test_cancel_too_late_is_a_finding(unknown: Delivery) -> None:
    said = typed("cancel", "run-1", "--json")

    assert said.code == 1
    assert said.json["too_late"] == [str(unknown.delivery_id)]
    assert delivery("room:ops").withdrawn_at is not None


def test_cancel_with_a_typing_error_withdraws_nothing_and_says_what_there_is(
    alerts: Channel,
) -> None:
    record(["room:a"])

    by_message = typed("cancel", "run-1", "--message", "digets")
    by_destination = typed("cancel", "run-1", "--destination", "room:b", "--json")

    assert (by_message.code, "one of: digest" in by_message.err) == (2, True)
    assert by_destination.json["field"] == "destination"
    assert typed("cancel", "nope").code == 2
    assert delivery("room:a").status == "pending"


def test_a_stopped_run_goes_on_after_a_person_has_looked(transactional_db: None) -> None:
    run = Run.objects.create(run_id="run-1", agent="tester", status=RunStatus.CRASH_LOOP)

    nothing_said = typed("resolve_run", "run-1", "--reason", " ")
    said = typed("resolve_run", "run-1", "--reason", "out of memory")
    again = typed("resolve_run", "run-1", "--reason", "out of memory")

    run.refresh_from_db()
    assert (nothing_said.code, said.code, again.code) == (2, 0, 2)
    assert run.status == RunStatus.RUNNING
    event = Event.objects.get(kind="resolve_crash_loop")
    assert event.detail == {"reason": "out of memory"}
    assert event.actor.startswith("shell:")


def test_ledgers_that_hold_are_said_to_hold_by_name(alerts: Channel) -> None:
    record(["room:a"])

    said = typed("verify_ledgers", "--json")

    assert said.code == 0
    assert said.json["holds"]
    assert "queue-and-ledger-agree" in {one["name"] for one in said.json["invariants"]}


@pytest.mark.unverified_ledgers
def test_a_broken_invariant_is_named_with_its_offender(alerts: Channel) -> None:
    (row,) = record(["room:a"])
    OutboxItem.objects.all().delete()

    said = typed("verify_ledgers")

    assert said.code == 1
    assert "BROKEN  queue-and-ledger-agree" in said.out
    assert str(row.delivery_id) in said.out
    assert "invariants are BROKEN" in said.out


def test_the_page_of_states_can_be_checked_without_writing_it() -> None:
    assert typed("draw_states", "--check").code == 0


def test_workers_are_listed_and_none_alive_is_a_finding(alerts: Channel) -> None:
    nobody = typed("workers")
    record(["room:a"])
    worker = sweep()

    ended = typed("workers", "--json")

    assert (nobody.code, nobody.out) == (1, "no worker is alive: nothing is delivered\n")
    assert ended.code == 1
    (row,) = ended.json["workers"]
    assert (row["worker"], row["state"], row["settled"]) == (worker.who.name, "ended", 1)


def test_a_worker_is_silent_when_the_console_calls_it_so(alerts: Channel) -> None:
    for name, age_s in (("late", SILENT_S - 10), ("gone", SILENT_S + 10)):
        beat_at = database_now() - timedelta(seconds=age_s)
        Worker.objects.create(name=name, host="h", pid=1, build="b", mode="resident")
        Worker.objects.filter(name=name).update(beat_at=beat_at)

    told = typed("workers", "--json")

    states = {row["worker"]: row["state"] for row in told.json["workers"]}
    assert states == {sign.worker.name: sign.state for sign in signs()}
    assert states == {"late": "alive", "gone": "silent"}
