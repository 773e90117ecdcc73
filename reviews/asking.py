"""What decisions and changes have in common: somebody asks, somebody answers, one row tells it."""

from datetime import datetime
from typing import ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from ledgers.models.trail import MAX_ACTOR
from reviews.agreeing import Asked
from reviews.judged import Refusal
from reviews.kinds import Gate, Stage
from reviews.wording import clock

MAX_REASON = 2_000  # characters


class Asking(models.Model):
    """Request, approval and execution in one row; `stage` is the guard of all three."""

    noun: ClassVar[str]

    stage = models.CharField(max_length=10, choices=Stage, default=Stage.DRAFT)
    gate = models.CharField(max_length=6, choices=Gate, blank=True)
    reason = models.CharField(max_length=MAX_REASON, blank=True)
    # Who. The names are what the trail says; an account may be gone or renamed one day.
    requested_by = models.CharField(max_length=MAX_ACTOR)
    requester = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    approved_by = models.CharField(max_length=MAX_ACTOR, blank=True)
    approver = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    answer = models.CharField(max_length=MAX_REASON, blank=True)
    # When.
    drafted_at = models.DateTimeField(db_default=Now())
    requested_at = models.DateTimeField(null=True, blank=True)
    # The end of the wait of somebody who decides alone.
    ripe_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField()
    executed_at = models.DateTimeField(null=True, blank=True)
    # Refused, undone, expired or void.
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.noun} {self.pk}"

    def already(self, now: datetime) -> Refusal:
        """Who was quicker, and when."""
        who = self.approved_by or self.requested_by
        at = self.ended_at or self.executed_at or self.requested_at
        verb = "" if self.stage == Stage.REQUESTED else "is "
        return Refusal(
            f"{self.noun} {self.pk} {verb}{self.get_stage_display()} ({who}, {clock(at, now)})",
            "a look at what became of it",
        )

    def asked(self, typed: str) -> Asked:
        """The request, for those who may answer it. `typed`: what one person alone must type."""
        return Asked(
            gate=Gate(self.gate),
            requested_by=self.requested_by,
            requester_id=self.requester_id,
            expires_at=self.expires_at,
            ripe_at=self.ripe_at,
            typed=typed,
        )

    def end(self, stage: Stage, answer: str, now: datetime) -> Self:
        """It comes to nothing, and says why."""
        self.stage, self.answer, self.ended_at = stage, answer, now
        self.save()
        return self
