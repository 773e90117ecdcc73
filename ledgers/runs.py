"""Runs of the execution ledger: opened and ended by an agent, stopped when a step keeps dying."""

from django.db import connection, transaction
from django.db.models import F, Q

from ledgers import migrated
from ledgers.canonical import check_name, storable
from ledgers.clock import ClockTimestamp
from ledgers.errors import (
    ConflictError,
    CrashLoopError,
    LeaseLostError,
    NotFoundError,
    PurgedError,
)
from ledgers.models import Run, RunTombstone
from ledgers.models.trail import MAX_ACTOR
from ledgers.states import RunStatus, StepStatus
from ledgers.trail import log

# Deaths of one step after which its run is stopped until a person has looked.
DEATHS_ALLOWED = 2


def open_run(run_id: str, agent: str, trigger_key: str | None = None) -> Run:
    """Open a run, or find it again.

    Args:
        run_id: the agent's own name for it, printable, up to 200 characters.
        agent: the name of the agent, up to 100 characters.
        trigger_key: what started it (an inbound event, a schedule slot). The same key twice is
            the same run, whatever `run_id` the second caller thought of.

    Raises:
        InvalidValueError: a name cannot be kept.
        CrashLoopError: a person must look at the run first.
        ConflictError: the run was opened by another agent, or by another trigger.
        PurgedError: it ended long ago, and its records were removed.
        NotMigratedError: there are no ledgers in this database yet, or older ones; nothing was
            written.
    """
    check_name(run_id, "run_id")
    check_name(agent, "agent", MAX_ACTOR)
    if trigger_key is not None:
        check_name(trigger_key, "trigger_key")
    migrated.require()
    with transaction.atomic():
        refuse_purged(run_id, trigger_key)
        run = _find_or_make_run(run_id, agent, trigger_key)
        if run.status == RunStatus.CRASH_LOOP:
            raise CrashLoopError(crash_loop_text(run))
        if run.status == RunStatus.FAILED:
            Run.objects.filter(pk=run.pk).update(
                status=RunStatus.RUNNING, finished_at=None, error=""
            )
            log("reopen_run", agent, run=run, detail={"error": run.error})
            run.refresh_from_db()
        return run


def _find_or_make_run(run_id: str, agent: str, trigger_key: str | None) -> Run:
    if trigger_key is not None:
        _lock_name(f"trigger:{trigger_key}")
        known = Run.objects.select_for_update().filter(trigger_key=trigger_key).first()
        if known is not None:
            _check_agent(known, agent)
            Run.objects.filter(pk=known.pk).update(duplicate_triggers=F("duplicate_triggers") + 1)
            return known
    run, made = Run.objects.get_or_create(
        run_id=run_id, defaults={"agent": agent, "trigger_key": trigger_key}
    )
    if made:
        log("open_run", agent, run=run, detail={"trigger_key": trigger_key})
        return Run.objects.select_for_update().get(pk=run.pk)
    _check_agent(run, agent)
    if trigger_key is not None and run.trigger_key != trigger_key:
        raise ConflictError(
            f"run_id {run_id!r} was opened by trigger {run.trigger_key!r}, not by {trigger_key!r}."
            " Give each trigger a run of its own."
        )
    return Run.objects.select_for_update().get(pk=run.pk)


def refuse_purged(run_id: str, trigger_key: str | None = None) -> None:
    """Raises `PurgedError` if the run of this name, or of this trigger, was purged.

    The database refuses it as well, should a purge come in between.
    """
    named = Q(run_id=run_id)
    rows = RunTombstone.objects.filter(named | Q(trigger_key=trigger_key) if trigger_key else named)
    if found := rows.first():
        raise PurgedError(
            f"run {found.run_id!r} was {found.status} on {found.finished_at:%Y-%m-%d}, and its"
            f" records were removed by the retention policy (receipt {found.purge_id}). It is not"
            " done again. Give new work a run of its own."
        )


def _check_agent(run: Run, agent: str) -> None:
    """Two agents that chose the same name would take each other's work for done."""
    if run.agent != agent:
        raise ConflictError(
            f"run {run.run_id!r} was opened by agent {run.agent!r}, not by {agent!r}. Give each"
            " agent runs of its own, or keep the agent's name."
        )


def _lock_name(name: str) -> None:
    """Let one transaction at a time decide about a name that may not have a row yet."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])


def still_there(run: Run) -> Run:
    """The row of a run that was opened, locked against a change of its name and end.

    Raises:
        LeaseLostError: it is forgotten; a restore may have given its number to another run.
    """
    row = Run.objects.select_for_update(no_key=True).filter(pk=run.pk, run_id=run.run_id).first()
    if row is None:
        raise LeaseLostError(forgotten_text(run.run_id))
    return row


def forgotten_text(run_id: str) -> str:
    """What an agent is told whose work the database does not know any more."""
    return (
        f"run {run_id!r} is not as it was: the database was restored and has forgotten this work."
        " Start the agent again, under the same run id."
    )


def end_run(run: Run, error: str = "") -> str:
    """End a run: completed if no error is given and no step is open, else failed or still running.

    The error of one process says nothing about a step that another one has under its lease: the
    run then goes on. And one that another process failed is completed by who finishes its work.

    Returns:
        the status it has now.
    """
    with transaction.atomic():
        still_there(run)
        locked = Run.objects.select_for_update().get(pk=run.pk)
        if locked.status not in {RunStatus.RUNNING, RunStatus.FAILED}:
            return locked.status
        left = locked.steps.exclude(status=StepStatus.COMPLETED)
        if error:
            left = left.filter(lease_until__gt=ClockTimestamp())
        if left.exists():
            return locked.status
        status = RunStatus.FAILED if error else RunStatus.COMPLETED
        Run.objects.filter(pk=run.pk).update(
            status=status, error=storable(error, 2000), finished_at=ClockTimestamp()
        )
        log("end_run", locked.agent, run=locked, detail={"status": status})
        return status


def resolve_crash_loop(run_id: str, actor: str, reason: str) -> None:
    """A person has looked: the run may be opened again, and its deaths count anew.

    Raises:
        NotFoundError: no such run, or it is not stopped.
        InvalidValueError: no run can have this name.
    """
    check_name(run_id, "run_id")
    with transaction.atomic():
        run = Run.objects.select_for_update().filter(run_id=run_id, status="crash_loop").first()
        if run is None:
            raise NotFoundError(f"run_id: no run {run_id!r} is stopped by a crash loop.")
        Run.objects.filter(pk=run.pk).update(status=RunStatus.RUNNING)
        run.steps.exclude(status=StepStatus.COMPLETED).update(deaths=0, starts=0)
        log("resolve_crash_loop", actor, run=run, detail={"reason": storable(reason)})


def crash_loop_text(run: Run) -> str:
    """What a caller is told whose run is stopped."""
    return (
        f"run {run.run_id!r} is stopped: a step killed its process {DEATHS_ALLOWED} times."
        f" A person must look at it: manage.py resolve_run {run.run_id!r}."
    )
