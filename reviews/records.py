"""Decisions as they are kept: request, approval and execution are one row."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from ledgers.models import Delivery
from ledgers.models.trail import MAX_ACTOR
from reviews.asking import MAX_REASON, Asking
from reviews.kinds import Kind


class Decision(Asking):
    """One decision of one or two people about a frozen list of deliveries."""

    noun = "decision"

    kind = models.CharField(max_length=20, choices=Kind, blank=True)
    # Why the rows belong together, where they are an incident.
    about = models.CharField(max_length=300, blank=True)
    ticket = models.CharField(max_length=200, blank=True)
    # Evidence of a person's own: what was seen, and where it can be seen.
    note = models.CharField(max_length=MAX_REASON, blank=True)
    link = models.CharField(max_length=1000, blank=True)
    look_at = models.DateTimeField(null=True, blank=True)
    undo_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        default_permissions = ()
        constraints = (
            models.CheckConstraint(
                name="decision_asked_unless_draft",
                condition=Q(stage="draft", requested_at__isnull=True)
                | (~Q(stage="draft") & Q(requested_at__isnull=False) & ~Q(kind="") & ~Q(gate="")),
            ),
            models.CheckConstraint(
                name="decision_executed_iff_carried_out",
                condition=Q(stage__in=["executed", "undone"], executed_at__isnull=False)
                | (~Q(stage__in=["executed", "undone"]) & Q(executed_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="decision_ended_iff_over",
                condition=Q(
                    stage__in=["refused", "undone", "expired", "void"], ended_at__isnull=False
                )
                | (
                    ~Q(stage__in=["refused", "undone", "expired", "void"])
                    & Q(ended_at__isnull=True)
                ),
            ),
            models.CheckConstraint(
                name="decision_two_people_are_two",
                condition=~Q(gate="two", stage__in=["executed", "undone"])
                | (~Q(approved_by="") & ~Q(approved_by=models.F("requested_by"))),
            ),
            models.CheckConstraint(
                # A name may change between a request and its approval.
                name="decision_two_people_have_two_accounts",
                condition=~Q(gate="two", stage__in=["executed", "undone"])
                | (Q(approver__isnull=False) & ~Q(approver=models.F("requester"))),
            ),
        )
        indexes = (
            # What waits for approval: small, and looked at from every page.
            models.Index(
                fields=("requested_at",),
                name="decision_waiting",
                condition=Q(stage="requested"),
            ),
        )


class DecidedRow(models.Model):
    """One delivery of a decision's frozen list: as it was seen, and what became of it."""

    decision = models.ForeignKey(Decision, on_delete=models.CASCADE, related_name="rows")
    delivery = models.ForeignKey(Delivery, on_delete=models.PROTECT, related_name="+")
    row_version = models.PositiveIntegerField()
    status = models.CharField(max_length=12)
    # Ids of the evidence that was there to be seen.
    evidence = models.JSONField(default=list)
    # What an undo puts back.
    decision_before = models.CharField(max_length=12, blank=True)
    decided_before = models.DateTimeField(null=True, blank=True)
    withdrawn_before = models.BooleanField(default=False)
    # Empty until it is carried out; then done, skipped or undone, and why in words.
    result = models.CharField(max_length=8, blank=True)
    why = models.CharField(max_length=500, blank=True)
    # The generation that it made.
    made = models.ForeignKey(Delivery, null=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ("id",)
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(fields=("decision", "delivery"), name="decided_once"),
        )

    def __str__(self) -> str:
        return f"{self.delivery_id} in decision {self.decision_id}"


class Assignment(models.Model):
    """Who takes care of an unknown delivery, so that two people do not work on the same one."""

    delivery = models.OneToOneField(
        Delivery, on_delete=models.PROTECT, primary_key=True, related_name="assignment"
    )
    person = models.CharField(max_length=MAX_ACTOR)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.delivery_id}: {self.person}"
