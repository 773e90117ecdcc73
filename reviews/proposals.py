"""Proposed changes of channels and credentials, as they are kept: one row from draft to done."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from delivery.editing import Settings, what
from ledgers.models import Channel, Credential
from ledgers.models.trail import MAX_ACTOR
from reviews.kinds import Gate, Stage
from reviews.records import MAX_REASON

ENDED = ("refused", "expired", "void")


class Proposal(models.Model):
    """One change of one row, with request, approval and execution."""

    channel = models.ForeignKey(
        Channel, null=True, on_delete=models.PROTECT, related_name="proposals"
    )
    credential = models.ForeignKey(
        Credential, null=True, on_delete=models.PROTECT, related_name="proposals"
    )
    # All values as they were seen, and those that are to be different. A new row was nothing.
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    # The versions that it is bound to: the row's own, and that of the credential it will use.
    row_version = models.PositiveIntegerField(default=0)
    authority_version = models.PositiveIntegerField(default=0)
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
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        default_permissions = ()
        constraints = (
            models.CheckConstraint(
                name="proposal_of_one_row",
                condition=Q(channel__isnull=True, credential__isnull=False)
                | Q(channel__isnull=False, credential__isnull=True),
            ),
            models.CheckConstraint(
                name="proposal_asked_unless_draft",
                condition=Q(stage="draft", requested_at__isnull=True)
                | (~Q(stage="draft") & Q(requested_at__isnull=False) & ~Q(gate="")),
            ),
            models.CheckConstraint(
                name="proposal_executed_iff_done",
                condition=Q(stage="executed", executed_at__isnull=False)
                | (~Q(stage="executed") & Q(executed_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="proposal_ended_iff_over",
                condition=Q(stage__in=ENDED, ended_at__isnull=False)
                | (~Q(stage__in=ENDED) & Q(ended_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="proposal_two_people_are_two",
                condition=~Q(gate="two", stage="executed")
                | (~Q(approved_by="") & ~Q(approved_by=models.F("requested_by"))),
            ),
        )
        indexes = (
            # What waits for approval: small, and looked at from every page.
            models.Index(
                fields=("requested_at",),
                name="proposal_waiting",
                condition=Q(stage="requested"),
            ),
        )

    def __str__(self) -> str:
        return f"change {self.pk} of {self.what} {self.name}"

    @property
    def row(self) -> Settings:
        """What it is about."""
        row = self.channel or self.credential
        if row is None:
            raise ValueError("a proposal is of one row")  # its constraint says so
        return row

    @property
    def what(self) -> str:
        return what(self.row)

    @property
    def name(self) -> str:
        return str(self.row)

    @property
    def is_new(self) -> bool:
        """Whether the row was made by it."""
        return not self.before
