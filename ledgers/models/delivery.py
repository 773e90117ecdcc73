"""Delivery ledger: did the outside world accept this message?"""

from django.contrib.postgres.indexes import OpClass
from django.db import models
from django.db.models.functions import Now

from ledgers.domain import Domain
from ledgers.models.execution import Step
from ledgers.models.settings import Channel
from ledgers.states import DeliveryStatus

MAX_DESTINATION = 1000  # characters; the unique index holds at most 2,700 bytes


class Message(models.Model):
    """What a completed step owes to the outside world, frozen when it was recorded."""

    step = models.ForeignKey(Step, on_delete=models.PROTECT, related_name="messages")
    name = models.CharField(max_length=200)
    channel = models.ForeignKey(
        Channel, on_delete=models.PROTECT, related_name="messages", db_index=False
    )
    # Canonical JSON as text: jsonb would re-order and re-spell it, and the hash must hold.
    # NULL once erased; the hash stays.
    payload = models.TextField(null=True)  # noqa: DJ001
    payload_hash = models.CharField(max_length=64)
    contract = models.JSONField()
    parts = models.PositiveIntegerField(default=1)
    # How many the roster had: a delivery that is gone would be missed by nobody.
    destinations = models.PositiveIntegerField()
    not_before = models.DateTimeField(null=True, blank=True)
    not_after = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(fields=("step", "name", "channel"), name="message_identity"),
        )
        indexes = (
            # A channel's latest messages: the console looks among them for its last success.
            models.Index(fields=("channel", "id"), name="message_by_channel"),
        )

    def __str__(self) -> str:
        return f"{self.name} by {self.channel}"


class Delivery(models.Model):
    """One message to one destination: the durable identity of one intended side effect."""

    delivery_id = models.UUIDField(unique=True)
    message = models.ForeignKey(Message, on_delete=models.PROTECT, related_name="deliveries")
    destination = models.CharField(max_length=MAX_DESTINATION)
    part = models.PositiveIntegerField(default=1)
    generation = models.PositiveIntegerField(default=1)
    status = models.CharField(max_length=12, choices=DeliveryStatus, default=DeliveryStatus.PENDING)
    # The rule (and its reason, in words) that put the row where it is.
    cause = models.CharField(max_length=300, blank=True)
    body_hash = models.CharField(max_length=64)
    idempotency_key = models.CharField(max_length=255)
    recognizer = models.CharField(max_length=40)
    key_first_used_at = models.DateTimeField(null=True, blank=True)
    provider_message_id = models.CharField(max_length=300, blank=True)
    attempt_count = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    unknown_since = models.DateTimeField(null=True, blank=True)
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    disputed_at = models.DateTimeField(null=True, blank=True)
    # A restore may have forgotten a send of this row: possibly accepted, also with no attempt.
    # From `rewound_at` on no worker of before the restore can write any more; before
    # `rewound_from` nothing is forgotten.
    rewound_at = models.DateTimeField(null=True, blank=True)
    rewound_from = models.DateTimeField(null=True, blank=True)
    # The latest decision of a person in force: send_again, try_again or leave.
    decision = models.CharField(max_length=12, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    # Until then the person may take it back, and no machine acts on it.
    undo_until = models.DateTimeField(null=True, blank=True)
    # When a person asked for the destination to be searched again.
    look_again_at = models.DateTimeField(null=True, blank=True)
    # Guards. The fence comes from a sequence that never restarts; every fact raises the version.
    fence = models.BigIntegerField(default=0)
    row_version = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ("id",)
        verbose_name_plural = "deliveries"
        constraints = (
            models.UniqueConstraint(
                fields=("message", "destination", "part", "generation"), name="delivery_identity"
            ),
            models.CheckConstraint(
                name="delivery_counts_from_one",
                condition=models.Q(part__gte=1, generation__gte=1, row_version__gte=1),
            ),
            models.CheckConstraint(
                name="delivery_unknown_since_iff_unknown",
                condition=models.Q(status="unknown", unknown_since__isnull=False)
                | (~models.Q(status="unknown") & models.Q(unknown_since__isnull=True)),
            ),
            models.CheckConstraint(
                name="delivery_finished_iff_terminal",
                condition=models.Q(
                    status__in=["pending", "submitting", "unknown"], finished_at__isnull=True
                )
                | models.Q(
                    status__in=["delivered", "failed", "expired", "cancelled"],
                    finished_at__isnull=False,
                    next_attempt_at__isnull=True,
                ),
            ),
            models.CheckConstraint(
                name="delivery_acknowledged_iff_delivered",
                condition=models.Q(status="delivered", acknowledged_at__isnull=False)
                | (~models.Q(status="delivered") & models.Q(acknowledged_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="delivery_submitting_has_attempt",
                condition=~models.Q(status="submitting")
                | models.Q(attempt_count__gte=1, fence__gt=0),
            ),
            models.CheckConstraint(
                name="delivery_cancelled_is_withdrawn",
                condition=~models.Q(status="cancelled") | models.Q(withdrawn_at__isnull=False),
            ),
            models.CheckConstraint(
                name="delivery_key_used_iff_attempted",
                condition=models.Q(attempt_count=0, key_first_used_at__isnull=True)
                | models.Q(attempt_count__gt=0, key_first_used_at__isnull=False)
                | models.Q(rewound_at__isnull=False),
            ),
            models.CheckConstraint(
                name="delivery_decision_is_dated",
                condition=models.Q(decision="", decided_at__isnull=True)
                | models.Q(
                    decision__in=["send_again", "try_again", "leave"], decided_at__isnull=False
                ),
            ),
        )
        indexes = (
            # Triage and `list_unknown`, oldest first. Small: only open questions are in it.
            models.Index(
                fields=("unknown_since", "id"),
                name="delivery_unknown",
                condition=models.Q(status="unknown"),
            ),
            # Triage: what is provably not sent and waits for a person's word. Nearly empty.
            models.Index(
                fields=("id",),
                name="delivery_asked",
                condition=models.Q(status="pending", next_attempt_at__isnull=True),
            ),
            # What a restore put in doubt, by channel and in groups. Empty without one.
            models.Index(
                fields=("id",),
                name="delivery_rewound",
                condition=models.Q(rewound_at__isnull=False),
            ),
            # Look-up of a receipt or of a provider's id by the operator.
            models.Index(
                fields=("provider_message_id",),
                name="delivery_provider_id",
                condition=~models.Q(provider_message_id=""),
            ),
            # An operator pastes what stands in the message.
            models.Index(fields=("recognizer",), name="delivery_recognizer"),
            # An operator pastes what stands in the provider's log.
            models.Index(fields=("idempotency_key",), name="delivery_key"),
            # An operator knows the recipient: all of a destination, or how it begins.
            models.Index(
                fields=("destination",),
                name="delivery_destination",
                opclasses=("text_pattern_ops",),
            ),
            # ... or whose it is. Empty for what has no domain, such as a chat or a phone.
            models.Index(
                OpClass(Domain("destination"), name="text_pattern_ops"),
                name="delivery_domain",
                condition=models.Q(destination__domain__isnull=False),
            ),
            # The list by status, the latest first; nearly all of a ledger is delivered.
            models.Index(
                fields=("status", "id"),
                name="delivery_by_status",
                condition=~models.Q(status="delivered"),
            ),
            # The list of what was sent again although it may have arrived. Nearly empty.
            models.Index(
                fields=("id",),
                name="delivery_later_generation",
                condition=models.Q(generation__gt=1),
            ),
            # The overview's cards. Small: what somebody must look into is in them.
            models.Index(
                fields=("disputed_at",),
                name="delivery_disputed",
                condition=models.Q(disputed_at__isnull=False),
            ),
            models.Index(
                fields=("finished_at",),
                name="delivery_expired",
                condition=models.Q(status="expired", decision=""),
            ),
            # The watch: what failed lately and nobody has decided about.
            models.Index(
                fields=("finished_at",),
                name="delivery_failed",
                condition=models.Q(status="failed", decision=""),
            ),
        )

    def __str__(self) -> str:
        return str(self.delivery_id)


class OutboxItem(models.Model):
    """What a machine still owes. Thin; removed in the transaction that settles the ledger row."""

    delivery = models.OneToOneField(
        Delivery, on_delete=models.PROTECT, primary_key=True, related_name="outbox_item"
    )
    channel = models.ForeignKey(Channel, on_delete=models.PROTECT, related_name="+", db_index=False)
    # When it is due; while leased, the lease's end: an abandoned item becomes due by itself.
    due_at = models.DateTimeField()
    leased = models.BooleanField(default=False)

    class Meta:
        indexes = (
            # The claim: what is due, channel by channel.
            models.Index(fields=("channel", "due_at"), name="outbox_due"),
            # Calls under way on a channel that limits them. Small: only leased items are in it.
            models.Index(
                fields=("channel",), name="outbox_leased", condition=models.Q(leased=True)
            ),
        )

    def __str__(self) -> str:
        return f"owed: {self.delivery_id}"


class Attempt(models.Model):
    """One submission on the wire, committed before anything may leave the process."""

    delivery = models.ForeignKey(Delivery, on_delete=models.PROTECT, related_name="attempts")
    number = models.PositiveIntegerField()
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    worker = models.CharField(max_length=100)
    host = models.CharField(max_length=100)
    build = models.CharField(max_length=60)
    fence = models.BigIntegerField()
    idempotency_key = models.CharField(max_length=255)
    key_scope = models.CharField(max_length=100, blank=True)
    body_hash = models.CharField(max_length=64)
    authority = models.JSONField()
    # Seconds that the whole call may take, and when the lease under which it runs ends.
    deadline_s = models.FloatField()
    lease_until = models.DateTimeField()
    phase = models.CharField(max_length=12, blank=True)
    bytes_written = models.BigIntegerField(default=0)
    # Empty while open; then accepted, refused, unauthorised, deferred, not_sent, not_tried,
    # in_flight, mismatch or ambiguous (`delivery.outcomes`).
    outcome = models.CharField(max_length=12, blank=True)
    permanent = models.BooleanField(default=False)
    replayed = models.BooleanField(default=False)
    # The lease was gone when the answer came; the answer is kept all the same.
    late = models.BooleanField(default=False)
    retry_after_s = models.FloatField(null=True, blank=True)
    provider_message_id = models.CharField(max_length=300, blank=True)
    response = models.TextField(blank=True)
    error = models.TextField(blank=True)

    class Meta:
        ordering = ("delivery_id", "number")
        constraints = (
            models.UniqueConstraint(fields=("delivery", "number"), name="attempt_identity"),
            models.CheckConstraint(
                name="attempt_closed_iff_outcome",
                condition=models.Q(closed_at__isnull=True, outcome="")
                | (models.Q(closed_at__isnull=False) & ~models.Q(outcome="")),
            ),
        )

    def __str__(self) -> str:
        return f"attempt {self.number}: {self.outcome or 'open'}"


class Evidence(models.Model):
    """What became known otherwise than by an attempt's own answer."""

    delivery = models.ForeignKey(Delivery, on_delete=models.PROTECT, related_name="evidence")
    # When the search began, on the database clock: what was sent later is not covered by it.
    taken_at = models.DateTimeField()
    created_at = models.DateTimeField(db_default=Now())
    method = models.CharField(
        max_length=12
    )  # key_lookup, id_lookup, surface_scan, receipt, operator
    verdict = models.CharField(max_length=12)  # found, found_many, absent, inconclusive
    searched = models.TextField(blank=True)
    why = models.TextField(blank=True)
    covered_from = models.DateTimeField(null=True, blank=True)
    pages = models.PositiveIntegerField(default=0)
    provider_message_id = models.CharField(max_length=300, blank=True)
    response = models.TextField(blank=True)
    seen_by = models.CharField(max_length=100)

    class Meta:
        ordering = ("id",)
        verbose_name_plural = "evidence"

    def __str__(self) -> str:
        return f"{self.method}: {self.verdict}"
