"""Execution ledger: did the agent finish this unit of work?"""

from django.db import models
from django.db.models.functions import Now

from ledgers.states import RunStatus, StepStatus


class Run(models.Model):
    """One execution of an agent, named by the agent. The same name twice is the same run."""

    run_id = models.CharField(max_length=200, unique=True)
    agent = models.CharField(max_length=200)
    status = models.CharField(max_length=12, choices=RunStatus, default=RunStatus.RUNNING)
    # An inbound event or a schedule slot. The same one twice is the same run.
    trigger_key = models.CharField(max_length=200, unique=True, null=True, blank=True)
    duplicate_triggers = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    started_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                name="run_finished_iff_ended",
                condition=models.Q(status__in=["completed", "failed"], finished_at__isnull=False)
                | models.Q(status__in=["running", "crash_loop"], finished_at__isnull=True),
            ),
        )

    def __str__(self) -> str:
        return self.run_id


class Step(models.Model):
    """One unit of work in a run. Its first committed result stands for ever."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="steps")
    step_id = models.CharField(max_length=200)
    version = models.PositiveIntegerField(default=1)
    input_hash = models.CharField(max_length=64)
    status = models.CharField(max_length=12, choices=StepStatus, default=StepStatus.RUNNING)
    result = models.TextField(null=True, blank=True)  # noqa: DJ001  canonical JSON; NULL: no result yet
    result_ref = models.CharField(max_length=1000, blank=True)
    result_hash = models.CharField(max_length=64, blank=True)
    # Names of the messages this step owes, declared when it completed.
    announces = models.JSONField(default=list, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    # The process that took or renewed the lease last, so that its death need not be waited for;
    # kept when the step ends. See `ledgers.holder`.
    holder = models.CharField(max_length=250, blank=True, db_default="")
    fence = models.BigIntegerField(default=0)
    starts = models.PositiveIntegerField(default=0)
    # Starts whose lease ran out without an end.
    deaths = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("id",)
        indexes = (
            # The watch: what was announced and is perhaps still owed, the latest first. Neither
            # status nor time is in it: ending a step that announces nothing touches no index.
            models.Index(fields=("-id",), name="step_announces", condition=~models.Q(announces=[])),
        )
        constraints = (
            models.UniqueConstraint(fields=("run", "step_id", "version"), name="step_identity"),
            models.CheckConstraint(
                name="step_result_iff_completed",
                condition=models.Q(
                    status="completed", result_hash__gt="", finished_at__isnull=False
                )
                | (~models.Q(status="completed") & models.Q(result_hash="")),
            ),
            models.CheckConstraint(
                name="step_lease_iff_running",
                condition=models.Q(status="running", lease_until__isnull=False)
                | (~models.Q(status="running") & models.Q(lease_until__isnull=True)),
            ),
        )

    def __str__(self) -> str:
        return f"{self.step_id} v{self.version}"
