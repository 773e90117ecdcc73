"""Proposed changes of channels and credentials, as they are kept: one row from draft to done."""

from django.db import models
from django.db.models import Q

from delivery.editing import Settings, what
from ledgers.models import Channel, Credential
from reviews.asking import Asking

ENDED = ("refused", "expired", "void")


class Proposal(Asking):
    """One change of one row, with request, approval and execution."""

    noun = "change"

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
            models.CheckConstraint(
                # A name may change between a request and its approval.
                name="proposal_two_people_have_two_accounts",
                condition=~Q(gate="two", stage="executed")
                | (Q(approver__isnull=False) & ~Q(approver=models.F("requester"))),
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
