"""What a step owes is recorded once, with its result or not at all, and stays as it was."""

import unicodedata
from typing import Any

import pytest
from django.db import transaction

from delivery import agent
from ledgers.canonical import sha256
from ledgers.models import Channel, Delivery, Event, Message, OutboxItem, Run, Step
from tests.delivery.senders import Desk
from tests.factories import count_rows, deliveries, make_channel, message, record, sweep
from tests.ledgers.steps import kinds

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def alerts() -> Channel:
    return make_channel()


def execute(*messages: Any, run_id: str = "run-1", result: Any = None, **arguments: Any) -> Any:
    """Execute the step once more, as an agent does that was restarted before it knew."""
    with agent.run(run_id, agent="tester") as run:
        step = run.step("write")
        step.complete(result, messages, **arguments)
        return step


def start_and_raise(error: BaseException) -> None:
    with agent.run("run-1", agent="tester") as run:
        run.step("write")
        raise error


def detail(kind: str) -> dict[str, Any]:
    found: dict[str, Any] = Event.objects.get(kind=kind).detail
    return found


def test_result_messages_deliveries_items_and_events_are_recorded_together() -> None:
    rows = record(["tg:1", "tg:2"], {"b": 1, "a": "é"})

    kept = Message.objects.get()
    assert (kept.payload, kept.payload_hash) == (
        '{"a":"é","b":1}',
        sha256('{"a":"é","b":1}'),
    )
    assert kept.contract["adapter"] == "function"
    assert [row.destination for row in rows] == ["tg:1", "tg:2"]
    assert {row.status for row in rows} == {"pending"}
    assert OutboxItem.objects.filter(leased=False).count() == 2
    assert kinds("record") == 2
    assert Run.objects.get().status == "completed"


def test_equal_destinations_collapse_after_normalisation() -> None:
    rows = record(["tg:1", " tg:1", "tg:1\n", "tg:2"])

    assert [row.destination for row in rows] == ["tg:1", "tg:2"]


def test_every_destination_part_and_run_has_a_key_of_its_own() -> None:
    rows = [*record(["tg:1", "tg:2"]), *record(["tg:1", "tg:2"], run_id="run-2")]

    assert len({row.delivery_id for row in rows}) == 4
    assert len({row.idempotency_key for row in rows}) == 4
    assert len({row.recognizer for row in rows}) == 4


def test_executing_a_step_again_records_nothing_new() -> None:
    first = record(["tg:1", "tg:2"])
    before = count_rows()

    again = record(["tg:1", "tg:2"])

    assert [row.delivery_id for row in again] == [row.delivery_id for row in first]
    assert count_rows() == before


def test_a_recomputed_roster_adds_nothing_removes_nothing_and_is_told() -> None:
    before = record(["tg:1", "tg:2"])

    execute(message(["tg:2", "tg:3"]))

    assert deliveries() == before
    assert detail("roster_drift") == {
        "message": "digest",
        "not_added": ["tg:3"],
        "not_removed": ["tg:1"],
        "not_added_count": 1,
        "not_removed_count": 1,
    }


def test_a_drift_of_thousands_is_counted_and_named_only_in_part() -> None:
    record(["tg:1"])

    execute(message([f"sms:{n}" for n in range(1000)]))

    told = detail("roster_drift")
    assert (told["not_added_count"], len(told["not_added"])) == (1000, 20)


def test_another_wording_is_told_and_the_first_one_is_kept() -> None:
    (row,) = record(content="the answer is short")

    step = execute(message(content="the answer is brief"), result={"worded": "differently"})

    assert deliveries() == [row]
    assert Message.objects.get().payload == '"the answer is short"'
    assert step.result == {"done": True}
    assert detail("payload_drift") == {
        "message": "digest",
        "kept": sha256('"the answer is short"'),
        "ignored": sha256('"the answer is brief"'),
    }
    assert kinds("result_drift") == 1


def test_the_two_forms_of_an_accent_are_one_identity_and_a_drift() -> None:
    (row,) = record(content=unicodedata.normalize("NFC", "Café"))

    execute(message(content=unicodedata.normalize("NFD", "Café")))

    assert deliveries() == [row]
    assert kinds("payload_drift") == 1


def test_two_runs_with_the_same_text_owe_two_deliveries() -> None:
    one, other = record(content="Café"), record(content="Café", run_id="run-2")

    assert one[0].delivery_id != other[0].delivery_id
    assert kinds("payload_drift") == 0


def test_white_space_at_the_end_is_part_of_the_text_then_and_later() -> None:
    record(content="done\n")

    execute(message(content="done\n"))

    assert Message.objects.get().payload == '"done\\n"'
    assert kinds("payload_drift") == 0


def test_a_message_that_a_completed_step_did_not_owe_is_not_added() -> None:
    record()

    execute(message(), message(name="afterthought"))

    assert Message.objects.count() == 1
    assert detail("message_drift") == {"not_added": "afterthought"}


def test_an_announced_message_is_owed_until_it_is_recorded() -> None:
    step = execute(announces=["digest", "alarm"])
    owed_before = agent.owed("run-1").announced

    step.record([message()])

    assert owed_before == (("write", "alarm"), ("write", "digest"))
    assert agent.owed("run-1").announced == (("write", "alarm"),)
    assert len(deliveries()) == 1


def test_an_announced_message_recorded_twice_is_one_message_and_a_drift() -> None:
    step = execute(announces=["digest"])
    step.record([message()])

    step.record([message(["tg:9"], "other")])

    assert [row.destination for row in deliveries()] == ["tg:1001"]
    assert (kinds("payload_drift"), kinds("roster_drift")) == (1, 1)


def test_a_step_that_is_not_completed_owes_nothing_that_could_be_recorded() -> None:
    with agent.run("run-1", agent="tester") as run:
        step = run.step("write")

        with pytest.raises(agent.InvalidValueError, match="nothing; it announced no message"):
            step.record([message()])
        step.complete()


@pytest.mark.django_db(transaction=True)
def test_a_caller_that_rolls_back_has_recorded_nothing_and_sent_nothing(desk: Desk) -> None:
    with agent.run("run-1", agent="tester") as run:
        step = run.step("write")
        before = count_rows()

        def complete_and_regret() -> None:
            with transaction.atomic():
                step.complete("done", [message()])
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            complete_and_regret()

        assert count_rows() == before
        assert Step.objects.get().status == "running"
        sweep()
        assert desk.received == []
        step.complete("done", [message()])  # the lease is still this process's
    sweep()

    assert desk.effects("tg:1001") == 1


def test_the_roster_is_frozen_whatever_a_session_calls_its_last_recipient() -> None:
    roster = ["tg:1001"]
    with agent.run("run-1", agent="tester") as run:
        run.step("write").complete(None, [message(roster)])

    roster[0] = "heartbeat"

    assert [row.destination for row in deliveries()] == ["tg:1001"]


def test_the_stored_hash_is_that_of_what_was_given_then() -> None:
    content = {"text": "first"}
    with agent.run("run-1", agent="tester") as run:
        run.step("write").complete(content, [message(content=content)])

    content["text"] = "rewritten"

    assert Step.objects.get().result_hash == sha256('{"text":"first"}')
    assert Message.objects.get().payload_hash == sha256('{"text":"first"}')


def test_not_before_is_when_it_becomes_due() -> None:
    moment = Run.objects.create(run_id="clock", agent="tester").started_at.replace(year=2099)
    (row,) = record(not_before=moment)

    assert row.next_attempt_at == moment
    assert OutboxItem.objects.get().due_at == moment


def test_a_run_opened_by_an_error_leaves_its_step_free_to_be_started_again() -> None:
    with pytest.raises(ValueError, match="no luck"):
        start_and_raise(ValueError("no luck"))

    failed = Step.objects.get()
    assert (failed.status, failed.error) == ("failed", "ValueError: no luck")
    assert Run.objects.get().status == "failed"
    assert record()[0].status == "pending"
    assert Run.objects.get().status == "completed"


def test_what_a_restarted_agent_is_told() -> None:
    record(["tg:1", "tg:2"])
    with agent.run("run-1", agent="tester") as run:
        assert run.step("write").done

    owed = agent.owed("run-1")

    assert [(s.step_id, s.version, s.result) for s in owed.done] == [("write", 1, {"done": True})]
    assert (owed.status, owed.open_steps, owed.announced) == ("completed", (), ())
    assert [d.destination for d in owed.must_not_send] == ["tg:1", "tg:2"]
    assert {d.advice for d in owed.standing.deliveries} == {"do_not_resend"}
    assert owed.standing.counts == {"pending": 2}
    assert not owed.standing


def test_a_refused_second_process_does_not_fail_the_run_of_the_first() -> None:
    with agent.run("run-1", agent="tester") as run:
        step = run.step("write")
        with pytest.raises(agent.LeaseHeldError), agent.run("run-1", agent="tester") as other:
            other.step("write")
        status_then = Run.objects.get().status
        step.complete("done", [message()])

    assert status_then == "running"
    assert Run.objects.get().status == "completed"
    assert Delivery.objects.count() == 1
