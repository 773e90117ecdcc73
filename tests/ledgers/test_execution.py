"""Steps: started once, leased, completed for ever by the first committed result."""

from threading import Barrier
from typing import Any

import pytest

from ledgers import execution, runs
from ledgers.canonical import sha256
from ledgers.errors import (
    ConflictError,
    InvalidValueError,
    LeaseHeldError,
    LeaseLostError,
    RunEndedError,
)
from ledgers.execution import Lease
from ledgers.models import Event, Run, Step
from tests.ledgers.connections import other_thread
from tests.ledgers.steps import kinds, let_lease_end, make_run, step_row

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return make_run()


def test_a_started_step_is_leased_by_the_database_clock(run: Run) -> None:
    lease = execution.start_step(run, "write", input={"day": 1}, lease_s=60)

    step = step_row()
    assert (lease.done, lease.result, lease.fence) == (False, None, step.fence)
    assert (step.status, step.starts, step.deaths) == ("running", 1, 0)
    assert step.input_hash == sha256('{"day":1}')
    assert step.lease_until is not None
    assert step.started_at is not None
    assert 59 < (step.lease_until - step.started_at).total_seconds() <= 60
    assert kinds("start_step") == 1


def test_the_first_result_is_stored_with_its_hash(run: Run) -> None:
    lease = execution.start_step(run, "write")

    done = execution.complete_step(lease, {"b": 1, "a": None}, result_ref="file:/r")

    step = step_row()
    assert (done.result, done.first) == ({"a": None, "b": 1}, True)
    assert (step.status, step.result, step.result_ref) == (
        "completed",
        '{"a":null,"b":1}',
        "file:/r",
    )
    assert step.result_hash == sha256(step.result or "")
    assert step.lease_until is None


def test_a_completed_step_gives_its_result_and_is_not_done_again(run: Run) -> None:
    execution.complete_step(execution.start_step(run, "write", input=[1]), "first")

    again = execution.start_step(run, "write", input=[1])

    assert (again.done, again.result, again.fence) == (True, "first", 0)
    assert step_row().starts == 1


def test_a_result_of_null_is_a_result(run: Run) -> None:
    execution.complete_step(execution.start_step(run, "write"), None)

    assert execution.start_step(run, "write").done


def test_another_result_for_a_completed_step_is_an_event_and_changes_nothing(run: Run) -> None:
    lease = execution.start_step(run, "write")
    execution.complete_step(lease, "first")

    later = execution.complete_step(lease, "second")
    same = execution.complete_step(execution.start_step(run, "write"), "first")

    drift = Event.objects.get(kind="result_drift")
    assert (later.result, later.first) == ("first", False)
    assert (same.result, same.first) == ("first", False)
    assert drift.detail == {"kept": sha256('"first"'), "ignored": sha256('"second"')}
    assert step_row().result == '"first"'


@pytest.mark.parametrize("completed", [True, False])
def test_another_input_is_a_conflict_that_names_both_hashes(run: Run, completed: bool) -> None:
    lease = execution.start_step(run, "write", input={"day": 1})
    if completed:
        execution.complete_step(lease, "done")

    with pytest.raises(ConflictError) as conflict:
        execution.start_step(run, "write", input={"day": 2})

    for text in (sha256('{"day":1}')[:12], sha256('{"day":2}')[:12], "version=2"):
        assert text in str(conflict.value)
    assert Step.objects.count() == 1


def test_a_new_version_is_done_anew_beside_the_old_one(run: Run) -> None:
    execution.complete_step(execution.start_step(run, "write", input=1), "old")

    lease = execution.start_step(run, "write", input=2, version=2)
    execution.complete_step(lease, "new")

    assert execution.start_step(run, "write", input=1).result == "old"
    assert execution.start_step(run, "write", input=2, version=2).result == "new"


def test_a_step_under_a_lease_is_refused_to_others(run: Run) -> None:
    execution.start_step(run, "write")

    with pytest.raises(LeaseHeldError, match=r"held by this very process; its lease ends"):
        execution.start_step(run, "write")

    assert step_row().starts == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("before", ["new", "failed", "dead"])
def test_of_two_processes_that_start_a_step_at_once_one_is_refused(before: str) -> None:
    run = make_run()
    if before != "new":
        first = execution.start_step(run, "write")
        execution.fail_step(first, "no") if before == "failed" else let_lease_end()
    start = Barrier(2)

    def start_it() -> Lease | LeaseHeldError:
        start.wait(10)
        try:
            return execution.start_step(run, "write")
        except LeaseHeldError as refusal:
            return refusal

    with other_thread() as thread:
        theirs = thread.submit(start_it)
        ours = start_it()

    outcomes = sorted(type(one).__name__ for one in (ours, theirs.result()))
    assert outcomes == ["Lease", "LeaseHeldError"]
    assert step_row().starts == (1 if before == "new" else 2)
    assert step_row().deaths == (1 if before == "dead" else 0)


def test_renewing_extends_the_lease_from_now(run: Run) -> None:
    lease = execution.start_step(run, "write", lease_s=1)
    before = step_row().lease_until

    execution.renew(lease, 500)

    after = step_row().lease_until
    assert before is not None
    assert after is not None
    assert (after - before).total_seconds() > 490


def test_who_lost_the_lease_can_neither_renew_complete_nor_fail(run: Run) -> None:
    lost = execution.start_step(run, "write")
    let_lease_end()
    execution.start_step(run, "write")

    with pytest.raises(LeaseLostError, match="no longer yours"):
        execution.renew(lost)
    with pytest.raises(LeaseLostError, match="another process started it"):
        execution.complete_step(lost, "late")
    execution.fail_step(lost, "late")

    assert (step_row().status, step_row().result) == ("running", None)


def test_a_silent_process_that_nobody_replaced_may_still_complete(run: Run) -> None:
    lease = execution.start_step(run, "write")
    let_lease_end()

    done = execution.complete_step(lease, "late but first")

    assert done.first


def test_a_failed_step_says_why_and_may_be_started_again(run: Run) -> None:
    lease = execution.start_step(run, "write")

    execution.fail_step(lease, "ValueError: no \x00 and \ud800")
    failed = step_row()
    again = execution.start_step(run, "write")

    assert (failed.status, failed.lease_until) == ("failed", None)
    assert failed.error.startswith("ValueError: no ")
    assert (again.done, step_row().starts, step_row().error) == (False, 2, "")
    assert step_row().deaths == 0


def test_a_completed_run_takes_no_new_step(run: Run) -> None:
    execution.complete_step(execution.start_step(run, "write"), "done")
    runs.end_run(run)

    with pytest.raises(RunEndedError, match="has no step 'more'"):
        execution.start_step(run, "more")

    assert execution.start_step(run, "write").done


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("step_id", {"step_id": ""}),
        ("step_id", {"step_id": "a\x00"}),
        ("step_id", {"step_id": "x" * 201}),
        ("version", {"version": 0}),
        ("version", {"version": True}),
        ("version", {"version": "1"}),
        ("version", {"version": 2**31}),
        ("lease_s", {"lease_s": 0}),
        ("lease_s", {"lease_s": float("nan")}),
        ("lease_s", {"lease_s": float("inf")}),
        ("lease_s", {"lease_s": 1e300}),
        ("lease_s", {"lease_s": "60"}),
        ("input.a", {"input": {"a": float("nan")}}),
    ],
    ids=str,
)
def test_a_step_is_refused_by_the_name_of_what_is_wrong(
    run: Run, field: str, arguments: dict[str, Any]
) -> None:
    given = {"step_id": "write"} | arguments

    with pytest.raises(InvalidValueError) as refusal:
        execution.start_step(run, given.pop("step_id"), **given)

    assert refusal.value.field == field
    assert not Step.objects.exists()


@pytest.mark.parametrize("lease_s", [0, -1, float("nan"), float("inf"), 1e300, "60"])
def test_a_lease_is_not_renewed_for_a_time_that_is_none(run: Run, lease_s: Any) -> None:
    lease = execution.start_step(run, "write")
    before = step_row().lease_until

    with pytest.raises(InvalidValueError, match=r"^lease_s: "):
        execution.renew(lease, lease_s)

    assert step_row().lease_until == before


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("result.a", {"result": {"a": b""}}),
        ("result_ref", {"result_ref": "x" * 1001}),
        ("result_ref", {"result_ref": "a\x00b"}),
        ("result_ref", {"result_ref": "a\ud800b"}),
        ("result_ref", {"result_ref": None}),
        ("announces", {"announces": ("",)}),
        ("announces", {"announces": "digest"}),
    ],
    ids=str,
)
def test_a_completion_is_refused_by_the_name_of_what_is_wrong(
    run: Run, field: str, arguments: dict[str, Any]
) -> None:
    lease = execution.start_step(run, "write")

    with pytest.raises(InvalidValueError) as refusal:
        execution.complete_step(lease, **{"result": None} | arguments)

    assert refusal.value.field == field
    assert step_row().status == "running"
