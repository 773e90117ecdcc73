"""Steps of the execution ledger: start, lease, complete and fail units of work.

Every function works in one short transaction, or inside the caller's. Times are the database's.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet

from ledgers import holder
from ledgers.canonical import Json, canonical_json, check_name, check_text, sha256, shown, storable
from ledgers.clock import ClockTimestamp
from ledgers.errors import (
    ConflictError,
    CrashLoopError,
    ErasedError,
    InvalidValueError,
    LeaseHeldError,
    LeaseLostError,
    LostWriteError,
    RunEndedError,
)
from ledgers.models import Run, Step
from ledgers.runs import DEATHS_ALLOWED, crash_loop_text, forgotten_text, still_there
from ledgers.states import RunStatus, StepStatus
from ledgers.trail import log

DEFAULT_LEASE_S = 300.0
LONGEST_LEASE_S = 30 * 24 * 3600.0
MAX_REF = 1000  # characters
MAX_VERSION = 2**31 - 1  # what its column holds


@dataclass(frozen=True, slots=True)
class Lease:
    """A started step. `done`: it was completed before and `result` is what counts.

    `fence`: proof that the lease is still the caller's; 0 where the step was done already.
    """

    step_pk: int
    run_id: str
    step_id: str
    version: int
    fence: int
    done: bool
    result: Json


@dataclass(frozen=True, slots=True)
class Completion:
    """What a step's completion came to. `first`: this call's result is the one that stands."""

    result: Json
    first: bool


def start_step(
    run: Run,
    step_id: str,
    *,
    input: Json = None,  # noqa: A002  the caller's word for it
    version: int = 1,
    lease_s: float = DEFAULT_LEASE_S,
) -> Lease:
    """Start a unit of work, or learn that it is done.

    Args:
        run: an open run.
        step_id: its name within the run.
        input: what it works from; only its hash is kept, to recognise the same work again.
        version: raise it to do the step anew on purpose, with other input.
        lease_s: seconds after which a silent process counts as dead; renew in time. One that was
            killed on this host counts as dead at once.

    Raises:
        ConflictError: the step was started with another input under this version.
        LeaseHeldError: another process is at it.
        CrashLoopError: it has killed its process too often.
        RunEndedError: the run is completed and this step is not in it.
        ErasedError: the step is done, and its result was erased.
        InvalidValueError: a name, the input or the version cannot be kept.
    """
    digest = _checked_digest(step_id, input, version, lease_s)
    with transaction.atomic():
        # No key: a late completion, which has the step's row, may still write events of the run.
        run = still_there(run)
        step = Step.objects.filter(run=run, step_id=step_id, version=version).first()
        if step is None:
            return _start_new(run, step_id, version, digest, lease_s)
        _check_input(run, step, digest)
        if step.status == StepStatus.COMPLETED:
            return _lease(run, step, done=True)
        _end_lease_of_the_dead(step)
        stopped = run.status == RunStatus.CRASH_LOOP or _mark_death(step, run)
        taken = not stopped and _take(run, step, lease_s)
    # Outside the transaction: a death that was found is recorded even if the start is refused.
    return _started_again(run, step, stopped=stopped, taken=taken)


def _checked_digest(step_id: str, given: Json, version: object, lease_s: object) -> str:
    """The hash of the input, once everything about the step can be kept."""
    check_name(step_id, "step_id")
    _check_version(version)
    _check_lease(lease_s)
    return sha256(canonical_json(given, "input"))


def _check_input(run: Run, step: Step, digest: str) -> None:
    if step.input_hash != digest:
        raise ConflictError(
            f"step {step.step_id!r} version {step.version} of run {run.run_id!r} was started with"
            f" input {step.input_hash[:12]}…, now it comes with {digest[:12]}…. Pass the same"
            f" input, or version={step.version + 1} to do it anew on purpose."
        )


def _started_again(run: Run, step: Step, *, stopped: bool, taken: bool) -> Lease:
    """The lease of a step that was started before, or why there is none."""
    if stopped:
        raise CrashLoopError(crash_loop_text(run))
    if step.status == StepStatus.COMPLETED:  # by its dead holder's last commit, a moment ago
        return _lease(run, step, done=True)
    if not taken:
        raise LeaseHeldError(_held_text(run, step))
    return _lease(run, step)


def _held_text(run: Run, step: Step) -> str:
    until = f"{step.lease_until:%Y-%m-%d %H:%M:%S}" if step.lease_until else "?"
    return (
        f"step {step.step_id!r} of run {run.run_id!r} is held by {holder.worded(step.holder)};"
        f" its lease ends at {until} UTC unless it is renewed. Wait for it, with wait_s=…, or end"
        " that process: on this host its lease is then over at once."
    )


def _check_version(version: object) -> None:
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InvalidValueError("version", f"is {shown(version)}", "a whole number from 1")
    if version > MAX_VERSION:
        raise InvalidValueError("version", f"is {shown(version)}", f"at most {MAX_VERSION}")


def _check_lease(lease_s: object) -> None:
    if not isinstance(lease_s, int | float) or not 0 < lease_s <= LONGEST_LEASE_S:
        raise InvalidValueError(
            "lease_s", f"is {shown(lease_s)}", f"seconds, above 0 and at most {LONGEST_LEASE_S:.0f}"
        )


def _start_new(run: Run, step_id: str, version: int, digest: str, lease_s: float) -> Lease:
    if run.status == RunStatus.COMPLETED:
        raise RunEndedError(
            f"run {run.run_id!r} is completed and has no step {step_id!r}. Open a run of its own."
        )
    if run.status == RunStatus.CRASH_LOOP:
        raise CrashLoopError(crash_loop_text(run))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO ledgers_step (run_id, step_id, version, input_hash, status, result,"
            " result_ref, result_hash, announces, lease_until, holder, fence, starts, deaths,"
            " error, started_at, finished_at)"
            " VALUES (%s, %s, %s, %s, 'running', NULL, '', '', '[]', clock_timestamp()"
            " + make_interval(secs => %s), %s, nextval('ledgers_fence'), 1, 0, '',"
            " clock_timestamp(), NULL) RETURNING id",
            [run.pk, step_id, version, digest, lease_s, holder.present()],
        )
        (pk,) = cursor.fetchone()
    step = Step.objects.get(pk=pk)
    log("start_step", run.agent, step=step, detail={"starts": 1})
    return _lease(run, step)


def _end_lease_of_the_dead(step: Step) -> None:
    """End the lease of a process that was killed on this host: nobody is left to keep it.

    Zero rows: it completed, failed or was started anew since it was read.
    """
    if step.status == StepStatus.RUNNING and holder.is_gone(step.holder):
        held = Step.objects.filter(pk=step.pk, fence=step.fence, status=StepStatus.RUNNING)
        held.filter(lease_until__gt=ClockTimestamp()).update(lease_until=ClockTimestamp())


def _mark_death(step: Step, run: Run) -> bool:
    """Count a start whose lease ran out without an end; tell whether it stops the run.

    The caller holds the run's row and starts the step in the same transaction, so one start dies
    once, however many callers find it dead.
    """
    dead = Step.objects.filter(pk=step.pk, status="running", lease_until__lte=ClockTimestamp())
    # A person who resolves a crash loop sets both to 0: that start has been counted.
    if not dead.exclude(deaths__gte=F("starts")).update(deaths=F("deaths") + 1):
        return False
    step.refresh_from_db()
    detail = {"deaths": step.deaths, "holder": step.holder}
    log("step_died", run.agent, step=step, detail=detail)
    if step.deaths < DEATHS_ALLOWED or _everything_dies(step):
        return False
    Run.objects.filter(pk=run.pk).update(status=RunStatus.CRASH_LOOP, finished_at=None)
    log("crash_loop", run.agent, step=step, detail={"deaths": step.deaths})
    return True


def _take(run: Run, step: Step, lease_s: float) -> bool:
    """Lease a step that failed or whose process is dead."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE ledgers_step SET status = 'running', fence = nextval('ledgers_fence'),"
            " starts = starts + 1, error = '', started_at = clock_timestamp(), finished_at = NULL,"
            " lease_until = clock_timestamp() + make_interval(secs => %s), holder = %s"
            " WHERE id = %s AND (status = 'failed' OR (status = 'running' AND lease_until <="
            " clock_timestamp()))",
            [lease_s, holder.present(), step.pk],
        )
        # Zero rows: its lease is held.
        taken: bool = cursor.rowcount == 1
    step.refresh_from_db()
    if taken:
        log("start_step", run.agent, step=step, detail={"starts": step.starts})
    return taken


def _everything_dies(step: Step) -> bool:
    """Whether others died too and none got anywhere: then the machine is at fault, not the step."""
    others = Step.objects.exclude(pk=step.pk).filter(
        Q(started_at__gte=step.started_at) | Q(finished_at__gte=step.started_at)
    )
    return others.filter(deaths__gt=0).exists() and not others.filter(status="completed").exists()


def renew(lease: Lease, lease_s: float = DEFAULT_LEASE_S) -> None:
    """Extend a running step's lease by `lease_s` seconds from now; the caller is its holder.

    Raises:
        LeaseLostError: another process has started the step, or it has ended.
        InvalidValueError: the time is none.
    """
    _check_lease(lease_s)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE ledgers_step SET lease_until = clock_timestamp() + make_interval(secs => %s),"
            " holder = %s WHERE id = %s AND fence = %s AND status = 'running' AND step_id = %s"
            " AND run_id = (SELECT id FROM ledgers_run WHERE run_id = %s)",
            [lease_s, holder.present(), lease.step_pk, lease.fence, lease.step_id, lease.run_id],
        )
        if cursor.rowcount != 1:
            raise LeaseLostError(f"step {lease.step_id!r} is no longer yours; stop working on it.")


def complete_step(
    lease: Lease, result: Json, *, result_ref: str = "", announces: Sequence[str] = ()
) -> Completion:
    """Store a step's result; the first committed one stands for ever.

    Args:
        lease: what `start_step` gave.
        result: canonicalised and stored.
        result_ref: where a large result is kept, if it is not in `result`.
        announces: names of the messages it owes and will record later.

    Raises:
        LeaseLostError: the lease ran out and another process is at it.
        InvalidValueError: the result cannot be kept, or a name, and which.
    """
    text = canonical_json(result, "result")
    _check_ref(result_ref)
    _check_announces(announces)
    with transaction.atomic():
        refuse_forgotten(lease)
        step = Step.objects.select_for_update().get(pk=lease.step_pk)
        if step.status == StepStatus.COMPLETED:
            return _keep_first(step, text)
        if step.fence != lease.fence or step.status != StepStatus.RUNNING:
            raise LeaseLostError(
                f"step {lease.step_id!r}: your lease ran out and another process started it."
            )
        completed = Step.objects.filter(pk=step.pk).update(
            status=StepStatus.COMPLETED,
            result=text,
            result_ref=result_ref,
            result_hash=sha256(text),
            announces=sorted(set(announces)),
            lease_until=None,
            finished_at=ClockTimestamp(),
        )
        if completed != 1:  # its row is locked: only a write that was lost comes to this
            raise LostWriteError(f"step {lease.step_id!r} was not completed")
        log("complete_step", "agent", step=step)
        return Completion(json.loads(text), first=True)


def _check_ref(ref: object) -> None:
    if not isinstance(ref, str) or len(ref) > MAX_REF:
        raise InvalidValueError(
            "result_ref", f"is {str(ref)[:80]!r}", f"text of at most {MAX_REF} characters"
        )
    check_text(ref, "result_ref")


def _check_announces(names: object) -> None:
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InvalidValueError("announces", f"is {names!r}", 'a list of names, such as ["digest"]')
    for name in names:
        check_name(name, "announces")


def _keep_first(step: Step, text: str) -> Completion:
    """A model that words its result differently the second time changes nothing."""
    if sha256(text) != step.result_hash:
        detail = {"kept": step.result_hash, "ignored": sha256(text)}
        log("result_drift", "agent", step=step, detail=detail)
    return Completion(json.loads(step.result or "null"), first=False)


def fail_step(lease: Lease, error: str) -> None:
    """Record that the step ended with an error. It may be started again.

    A step that another process has started since is left alone.
    """
    with transaction.atomic():
        mine = _mine(lease).filter(fence=lease.fence, status=StepStatus.RUNNING)
        failed = mine.update(
            status=StepStatus.FAILED,
            error=storable(error, 2000),
            lease_until=None,
            finished_at=ClockTimestamp(),
        )
        if failed:
            step = Step.objects.get(pk=lease.step_pk)
            log("fail_step", "agent", step=step)


def refuse_forgotten(lease: Lease) -> None:
    """Raises `LeaseLostError` where a restore has forgotten the step, or gave its number away."""
    if not _mine(lease).exists():
        raise LeaseLostError(forgotten_text(lease.run_id))


def _mine(lease: Lease) -> QuerySet[Step]:
    named = {"step_id": lease.step_id, "version": lease.version, "run__run_id": lease.run_id}
    return Step.objects.filter(pk=lease.step_pk, **named)


def _lease(run: Run, step: Step, *, done: bool = False) -> Lease:
    if done and step.result is None:
        raise ErasedError(
            f"step {step.step_id!r} of run {run.run_id!r} is done, and its result was erased: there"
            " is nothing to go on with. It is not done again. Give new work a run of its own."
        )
    result = json.loads(step.result) if done and step.result is not None else None
    fence = 0 if done else step.fence
    return Lease(step.pk, run.run_id, step.step_id, step.version, fence, done, result)
