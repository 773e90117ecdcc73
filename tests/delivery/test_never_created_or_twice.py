"""Field cases of replies that were never created, or created twice."""

import pytest

from delivery import agent
from delivery.errors import NotSentError
from ledgers.clock import ClockTimestamp
from ledgers.models import Channel, Event, OutboxItem, Run, Step
from tests.delivery.senders import Desk
from tests.factories import deliveries, delivery, make_due, message, record, sweep
from tests.ledgers.connections import other_thread

pytestmark = pytest.mark.django_db(transaction=True)


def execute(content: str = "hello", run_id: str = "run-1") -> agent.Standing:
    """What an agent does that does not know whether it has done it."""
    with agent.run(run_id, agent="tester") as run:
        return run.step("write").complete(None, [message(content=content)]).standing()


def test_what_is_pending_is_the_same_after_a_restart(alerts: Channel, desk: Desk) -> None:
    Channel.objects.update(paused_at=ClockTimestamp())
    rows = record(["tg:1", "tg:2", "tg:3"])
    before = list(OutboxItem.objects.order_by("pk").values_list("pk", "due_at"))

    # Nothing of a process is taken along: the next one reads the tables.
    owed = agent.owed("run-1").standing.deliveries
    after = list(OutboxItem.objects.order_by("pk").values_list("pk", "due_at"))

    assert [d.delivery_id for d in owed] == [str(row.delivery_id) for row in rows]
    assert after == before


def test_a_first_attempt_that_fails_is_told_as_queued_and_not_to_be_resent(
    alerts: Channel, desk: Desk
) -> None:
    Channel.objects.update(retry_schedule=[3600])
    desk.script("tg:1001", NotSentError("no route"))
    execute()
    sweep()

    (told,) = agent.owed("run-1").standing.deliveries
    again = execute()

    assert (told.status, told.advice, told.attempts) == ("pending", "do_not_resend", 1)
    assert told.next_attempt_at is not None
    assert told.cause.startswith("too-early:")
    assert [d.delivery_id for d in again.deliveries] == [told.delivery_id]
    assert OutboxItem.objects.count() == 1


def test_a_paraphrase_after_a_time_out_gets_the_first_one_back_as_unknown(
    alerts: Channel, desk: Desk
) -> None:
    desk.script("tg:1001", TimeoutError("no answer"))
    execute("I have booked your flight.")
    sweep()

    again = execute("Your flight is booked!")
    make_due()
    sweep()

    (told,) = again.deliveries
    assert (told.status, told.advice) == ("unknown", "do_not_resend")
    assert [one.payload for one in desk.received] == ["I have booked your flight."]
    assert Event.objects.filter(kind="payload_drift").count() == 1


def test_of_a_resume_and_an_inbound_message_at_once_one_is_refused(
    alerts: Channel, desk: Desk
) -> None:
    def resume() -> str:
        try:
            execute()
        except agent.LeaseHeldError:
            return "refused"
        return "done"

    with agent.run("run-1", agent="tester") as run:
        step = run.step("write")
        with other_thread() as thread:
            theirs = thread.submit(resume).result(20)
        step.complete(None, [message()])
    sweep()

    assert theirs == "refused"
    assert (Run.objects.get().status, Step.objects.get().starts) == ("completed", 1)
    assert desk.effects("tg:1001") == 1


def test_a_digest_produced_daily_while_the_sender_is_paused_is_one_digest(
    alerts: Channel, desk: Desk
) -> None:
    Channel.objects.update(paused_at=ClockTimestamp(), pause_reason="weekend")
    for day in ("Mon", "Tue", "Wed"):
        execute(f"digest of the week, as of {day}", run_id="digest-2026-W49")
        sweep()
        make_due()
    held = len(desk.received)

    Channel.objects.update(paused_at=None)
    sweep()

    assert held == 0
    assert len(deliveries("digest-2026-W49")) == 1
    assert [one.payload for one in desk.received] == ["digest of the week, as of Mon"]


def test_a_re_executed_step_that_words_it_differently_sends_the_first_wording_once(
    alerts: Channel, desk: Desk
) -> None:
    execute("the answer is short")
    sweep()

    execute("the answer is brief")
    sweep()

    assert [one.payload for one in desk.received] == ["the answer is short"]


def test_no_failure_notice_is_due_while_it_may_have_been_accepted(
    alerts: Channel, desk: Desk
) -> None:
    desk.script("tg:1001", RuntimeError("raised after the post succeeded"))
    execute()
    sweep()

    owed = agent.owed("run-1")

    assert owed.status == "completed"
    assert owed.standing.counts == {"unknown": 1}
    assert not owed.standing.where("failed", "expired", "cancelled")
    assert [d.advice for d in owed.must_not_send] == ["do_not_resend"]
    assert desk.effects("tg:1001") == 1


def test_an_inbound_event_delivered_forty_times_to_two_workers_is_one_run_and_one_reply(
    alerts: Channel, desk: Desk
) -> None:
    def receive(numbers: range) -> None:
        for number in numbers:
            with agent.run(f"reply-{number}", agent="chat", trigger_key="wa:3EB0") as run:
                try:
                    step = run.step("answer")
                except agent.LeaseHeldError:
                    continue
                if not step.done:
                    step.complete(None, [message(content="hello back")])

    with other_thread() as thread:
        theirs = thread.submit(receive, range(20))
        receive(range(20, 40))
        theirs.result(30)
    sweep()

    run = Run.objects.get()
    assert run.duplicate_triggers == 39
    assert (len(deliveries(run.run_id)), len(desk.received)) == (1, 1)
    assert (run.status, delivery(run_id=run.run_id).status) == ("completed", "delivered")


def test_fourteen_requests_of_two_dispatchers_notify_once(
    alerts: Channel, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("delivery.breaker.OPEN_AFTER", 100)  # its pauses are not the point here
    Channel.objects.update(max_attempts=20)
    desk.script("tg:1001", *[NotSentError("503")] * 13)
    record()

    with other_thread() as thread:
        theirs = thread.submit(sweep)
        sweep()
        theirs.result(30)
    sweep()

    assert (len(desk.received), desk.effects("tg:1001")) == (14, 1)
    assert delivery().attempts.count() == 14
    assert len({one.key for one in desk.received}) == 1
