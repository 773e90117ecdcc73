"""Runs and steps as the tests of the execution ledger need them."""

from django.db import connection

from ledgers import runs
from ledgers.models import Event, Run, Step


def make_run(run_id: str = "run-1") -> Run:
    return runs.open_run(run_id, "tester")


def step_row(step_id: str = "write") -> Step:
    return Step.objects.get(step_id=step_id)


def kinds(kind: str) -> int:
    """How many events of this kind the trail has."""
    return Event.objects.filter(kind=kind).count()


def let_lease_end(step_id: str = "write") -> None:
    """Let the step's process be silent until its lease is over."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE ledgers_step SET lease_until = clock_timestamp() - interval '1 second'"
            " WHERE step_id = %s AND status = 'running'",
            [step_id],
        )
