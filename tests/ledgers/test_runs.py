"""Runs: found again by name or trigger, ended honestly, stopped when a step keeps dying."""

from threading import Barrier

import pytest

from ledgers import execution, runs
from ledgers.errors import (
    ConflictError,
    CrashLoopError,
    InvalidValueError,
    LedgerError,
    NotFoundError,
)
from ledgers.execution import Lease
from ledgers.models import Event, Run
from tests.ledgers.connections import other_thread
from tests.ledgers.steps import kinds, let_lease_end, make_run, step_row

pytestmark = pytest.mark.django_db


def complete(run: Run, step_id: str) -> None:
    execution.complete_step(execution.start_step(run, step_id), step_id)


def die(run: Run, step_id: str = "write") -> Lease:
    """Start the step, and let its process be killed."""
    lease = execution.start_step(run, step_id)
    let_lease_end(step_id)
    return lease


def test_the_same_name_twice_is_the_same_run() -> None:
    first, second = make_run(), make_run()

    assert first.pk == second.pk
    assert kinds("open_run") == 1


def test_the_same_trigger_twice_is_the_same_run_whatever_it_is_called() -> None:
    first = runs.open_run("run-1", "tester", trigger_key="wa:3EB0")
    second = runs.open_run("run-2", "tester", trigger_key="wa:3EB0")

    first.refresh_from_db()
    assert second.run_id == "run-1"
    assert first.duplicate_triggers == 1
    assert Run.objects.count() == 1


def test_another_trigger_does_not_take_over_a_run_of_the_same_name() -> None:
    runs.open_run("run-1", "tester", trigger_key="slot-1")

    with pytest.raises(ConflictError, match="opened by trigger 'slot-1'"):
        runs.open_run("run-1", "tester", trigger_key="slot-2")


@pytest.mark.parametrize("trigger", ["slot-1", None])
def test_another_agent_does_not_take_over_a_run_and_both_are_named(trigger: str | None) -> None:
    runs.open_run("run-1", "tester", trigger_key=trigger)

    with pytest.raises(ConflictError, match="opened by agent 'tester', not by 'other'"):
        runs.open_run("run-1", "other", trigger_key=trigger)

    assert Run.objects.get().duplicate_triggers == 0


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("trigger", ["slot-1", None])
def test_two_processes_that_open_a_slot_at_once_open_one_run(trigger: str | None) -> None:
    start = Barrier(2)

    def open_it() -> int:
        start.wait(10)
        return runs.open_run("run-1", "tester", trigger_key=trigger).pk

    with other_thread() as thread:
        theirs = thread.submit(open_it)
        ours = open_it()

    assert ours == theirs.result()
    assert Run.objects.get().duplicate_triggers == (trigger is not None)


def test_a_run_ends_completed_only_if_every_step_is() -> None:
    run = make_run()
    complete(run, "one")
    lease = execution.start_step(run, "two")

    early = runs.end_run(run)
    execution.complete_step(lease, 2)
    late = runs.end_run(run)

    assert (early, late) == ("running", "completed")
    assert Run.objects.get().finished_at is not None


def test_a_run_that_failed_says_why_and_may_be_opened_again() -> None:
    run = make_run()

    runs.end_run(run, "ValueError: \x00 \ud800")
    failed = Run.objects.get()
    again = make_run()

    assert failed.status == "failed"
    assert failed.error.startswith("ValueError: ")
    assert (again.status, again.error, again.finished_at) == ("running", "", None)
    assert kinds("reopen_run") == 1


def test_the_error_of_one_process_does_not_fail_a_run_that_another_is_working_on() -> None:
    run = make_run()
    execution.start_step(run, "write")

    status = runs.end_run(run, "LeaseHeldError: another process is at it")

    assert status == "running"


def test_a_run_that_one_process_failed_is_completed_by_the_one_that_did_the_work() -> None:
    run = make_run()
    runs.end_run(run, "the other process: ConflictError")
    complete(run, "write")

    assert runs.end_run(run) == "completed"


def test_ending_a_completed_run_again_changes_nothing() -> None:
    run = make_run()
    complete(run, "one")
    runs.end_run(run)

    assert runs.end_run(run, "too late") == "completed"
    assert kinds("end_run") == 1


def test_one_death_is_counted_and_the_step_starts_again() -> None:
    run = make_run()
    die(run)

    lease = execution.start_step(run, "write")

    assert not lease.done
    assert (step_row().starts, step_row().deaths) == (2, 1)
    assert kinds("step_died") == 1


def test_two_deaths_of_one_step_stop_the_run_until_a_person_resolves_it() -> None:
    run = make_run()
    complete(run, "before")
    die(run)
    die(run)

    with pytest.raises(CrashLoopError, match="resolve_run 'run-1'"):
        execution.start_step(run, "write")

    assert Run.objects.get().status == "crash_loop"
    assert kinds("crash_loop") == 1
    with pytest.raises(CrashLoopError):
        runs.open_run("run-1", "tester")
    with pytest.raises(CrashLoopError):
        execution.start_step(run, "other")


def test_a_stopped_run_refuses_the_step_also_to_who_had_opened_it_before() -> None:
    run = make_run()
    die(run)
    die(run)

    for _ in range(3):
        with pytest.raises(CrashLoopError):
            execution.start_step(run, "write")

    assert (step_row().starts, step_row().deaths) == (2, 2)


def test_a_stopped_run_still_tells_what_is_done() -> None:
    run = make_run()
    complete(run, "before")
    die(run)
    die(run)
    with pytest.raises(CrashLoopError):
        execution.start_step(run, "write")

    assert execution.start_step(run, "before").result == "before"


@pytest.mark.django_db(transaction=True)
def test_a_death_that_two_processes_find_at_once_is_one_death() -> None:
    run = make_run()
    execution.fail_step(execution.start_step(run, "write"), "an error is no death")
    die(run)
    start = Barrier(2)

    def start_it() -> str:
        start.wait(10)
        try:
            execution.start_step(run, "write")
        except LedgerError as error:
            return type(error).__name__
        return "leased"

    with other_thread() as thread:
        theirs = thread.submit(start_it)
        ours = start_it()

    assert sorted([ours, theirs.result()]) == ["LeaseHeldError", "leased"]
    assert step_row().deaths == 1


def test_when_everything_dies_the_machine_is_at_fault_and_no_run_is_stopped() -> None:
    run, other = make_run("run-1"), make_run("run-2")
    for _ in range(2):
        die(run)
        die(other, "theirs")

    lease = execution.start_step(run, "write")

    assert not lease.done
    assert step_row().deaths == 2
    assert not Run.objects.filter(status="crash_loop").exists()


def test_a_person_resolves_a_stopped_run_and_its_deaths_count_anew() -> None:
    run = make_run()
    die(run)
    die(run)
    with pytest.raises(CrashLoopError):
        execution.start_step(run, "write")

    runs.resolve_crash_loop("run-1", "ada", "the host was out of memory")

    event = Event.objects.get(kind="resolve_crash_loop")
    assert (event.actor, event.detail["reason"]) == ("ada", "the host was out of memory")
    assert make_run().status == "running"
    assert not execution.start_step(run, "write").done
    let_lease_end()
    assert not execution.start_step(run, "write").done
    assert step_row().deaths == 1


def test_a_run_that_is_not_stopped_cannot_be_resolved() -> None:
    make_run()

    for run_id in ("run-1", "nobody", "a\x00b"):
        with pytest.raises((NotFoundError, InvalidValueError), match=r"^run_id: "):
            runs.resolve_crash_loop(run_id, "ada", "because")


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("run_id", ("", "tester", None)),
        ("run_id", ("a\x00", "tester", None)),
        ("run_id", ("x" * 201, "tester", None)),
        ("agent", ("run-1", " ", None)),
        ("agent", ("run-1", "x" * 101, None)),
        ("trigger_key", ("run-1", "tester", "")),
        ("trigger_key", ("run-1", "tester", "a\nb")),
    ],
)
def test_a_run_is_refused_by_the_name_of_what_is_wrong(
    field: str, arguments: tuple[str, str, str | None]
) -> None:
    with pytest.raises(InvalidValueError) as refusal:
        runs.open_run(*arguments)

    assert refusal.value.field == field
    assert not Run.objects.exists()


def test_the_longest_names_are_kept_in_every_place_that_shows_them() -> None:
    run = runs.open_run("r" * 200, "a" * 100, trigger_key="t" * 200)
    lease = execution.start_step(run, "s" * 200)

    execution.complete_step(lease, None)

    assert Event.objects.filter(actor="a" * 100).count() >= 2
