"""Workers as they report themselves, what they share, and what the watch over them keeps.

What they work on is in `ledgers`.
"""

from django.db import models
from django.db.models.functions import Now

from ledgers.models import Channel, Delivery


class Worker(models.Model):
    """One process start of a worker. A row that stops beating is a worker that is gone.

    None is ever removed: a host that comes back names the one that it last knew (`delivery.mark`).
    """

    name = models.CharField(max_length=100, unique=True)
    host = models.CharField(max_length=100)
    pid = models.PositiveIntegerField()
    build = models.CharField(max_length=60)
    # resident (`manage.py deliver`) or shift (under `manage.py qcluster`)
    mode = models.CharField(max_length=10)
    started_at = models.DateTimeField(db_default=Now())
    beat_at = models.DateTimeField(db_default=Now())
    stopped_at = models.DateTimeField(null=True, blank=True)
    # The worker's clock minus the database's, in seconds.
    clock_offset_s = models.FloatField(default=0)
    claimed = models.BigIntegerField(default=0)
    settled = models.BigIntegerField(default=0)
    # When it last took something: one that beats and takes nothing is deaf.
    claimed_at = models.DateTimeField(null=True, blank=True)
    # Raised with every write-ahead and every beat. What the host keeps of it outside the database
    # (`delivery.mark`) is never ahead, unless the database was put back.
    mark = models.BigIntegerField(default=0, db_default=0)
    counted_at = models.DateTimeField(null=True, blank=True)
    # The installation's epoch that it knows to be right; 0: it may not send.
    epoch = models.PositiveIntegerField(default=0, db_default=0)

    class Meta:
        ordering = ("-beat_at",)
        # The liveness questions: who has beaten lately.
        indexes = (models.Index(fields=("beat_at",), name="worker_beat"),)

    def __str__(self) -> str:
        return self.name


class CredentialHold(models.Model):
    """A provider refused a channel's credential: what goes the same way waits.

    It holds only while the secret still has this fingerprint; see `delivery.credentials`.
    """

    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="credential_holds")
    # As the adapter names what fails together; empty is all of the channel.
    route = models.CharField(max_length=1000, blank=True)
    fingerprint = models.CharField(max_length=64)
    # refused, scope (it lacks one), or identity (it is of another account)
    kind = models.CharField(max_length=10)
    why = models.CharField(max_length=300)
    # The scopes it lacks, as the provider names them.
    needed = models.JSONField(default=list)
    since = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("channel_id", "route")
        constraints = (
            # One alert per way, however many were refused; also the look-up with every wave.
            models.UniqueConstraint(fields=("channel", "route"), name="credential_hold_once"),
        )

    def __str__(self) -> str:
        return self.why


class Receipt(models.Model):
    """What a provider reported by itself, verified, once per report of its own name.

    Kept before it is known whose it is: a report can be quicker than the answer that names the
    message. What it said is evidence of the delivery as soon as that is known.
    """

    channel = models.ForeignKey(Channel, on_delete=models.PROTECT, related_name="receipts")
    receipt_id = models.CharField(max_length=300)
    # accepted, delivered, bounced, complained or failed (`delivery.channels.contract.Receipt`)
    kind = models.CharField(max_length=12)
    provider_message_id = models.CharField(max_length=300, blank=True)
    recognizer = models.CharField(max_length=40, blank=True)
    happened_at = models.DateTimeField(null=True)
    received_at = models.DateTimeField(db_default=Now())
    said = models.CharField(max_length=300, blank=True)
    raw = models.TextField(blank=True)
    delivery = models.ForeignKey(
        Delivery, null=True, on_delete=models.PROTECT, related_name="receipts"
    )

    class Meta:
        ordering = ("id",)
        constraints = (
            # The same report, posted twice, counts once.
            models.UniqueConstraint(fields=("channel", "receipt_id"), name="receipt_once"),
        )
        indexes = (
            # A settled answer asks whether it was reported already. Nearly empty.
            models.Index(
                fields=("channel", "provider_message_id"),
                name="receipt_unmatched",
                condition=models.Q(delivery__isnull=True),
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind}: {self.receipt_id}"


class ReceiptTally(models.Model):
    """How many reports of a kind changed nothing, and when the last one came."""

    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="receipt_tallies")
    # forged, unverified (our own secret is missing), unreadable or repeated
    reason = models.CharField(max_length=12)
    count = models.BigIntegerField(default=0)
    last_at = models.DateTimeField(db_default=Now())
    why = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = (
            # One counter per channel and reason, counted up in place.
            models.UniqueConstraint(fields=("channel", "reason"), name="receipt_tally_once"),
        )

    def __str__(self) -> str:
        return f"{self.count} {self.reason}"


class QuestionMeter(models.Model):
    """The pace at which a channel's provider is asked; see `delivery.questions`."""

    channel = models.OneToOneField(
        Channel, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    free_at = models.DateTimeField()
    turn_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"free at {self.free_at:%H:%M:%S}"


class ChannelMeter(models.Model):
    """The token bucket of a channel with a rate limit; see `delivery.limits`."""

    channel = models.OneToOneField(
        Channel, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    tokens = models.FloatField()
    refilled_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.tokens:.1f} tokens"


class Probe(models.Model):
    """The last probe of a channel; see `delivery.probing`."""

    channel = models.OneToOneField(
        Channel, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    run_id = models.CharField(max_length=200, blank=True)
    # Its identity, and no foreign key: retention may take the row away.
    delivery_id = models.UUIDField(null=True)
    recorded_at = models.DateTimeField(null=True)
    looked_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)
    # When the oldest was recorded since one was seen at its destination.
    unseen_since = models.DateTimeField(null=True)
    said = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return self.run_id


class Watch(models.Model):
    """The one row that watches take in turn: whoever holds it writes the alarms."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    # The moment of the newest figures that were kept. Older ones, of a slower watch, are dropped.
    seen_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.CheckConstraint(name="watch_is_one_row", condition=models.Q(id=1)),)

    def __str__(self) -> str:
        return f"last look at {self.seen_at}"


class AlarmRow(models.Model):
    """How one check stands for one channel; see `delivery.watch.alarms.Alarm`."""

    check_name = models.CharField(max_length=40)
    channel = models.CharField(max_length=60, blank=True)  # a slug; empty for the whole
    state = models.CharField(max_length=10)
    since = models.DateTimeField(null=True)
    sentence = models.TextField(blank=True)
    better_since = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    serial = models.PositiveIntegerField(default=0)
    returns = models.PositiveIntegerField(default=0)
    newest = models.DateTimeField(null=True)
    raised_at = models.DateTimeField(null=True)
    told = models.JSONField(default=dict)

    class Meta:
        constraints = (
            # Two watches make one alarm of what they both see.
            models.UniqueConstraint(fields=("check_name", "channel"), name="alarm_once"),
            models.CheckConstraint(
                name="alarm_state_known", condition=models.Q(state__in=("ok", "late", "red"))
            ),
        )

    def __str__(self) -> str:
        return f"{self.check_name} {self.channel} {self.state}".replace("  ", " ")


class AlarmWay(models.Model):
    """One way to a person: an address, or the webhook. Leased by the watch that uses it now."""

    name = models.CharField(max_length=300, primary_key=True)
    lease_until = models.DateTimeField(db_default=Now())
    fence = models.PositiveBigIntegerField(default=0)
    # Not before: after an acceptance, so that what follows is told together; after a failure, to
    # back off.
    next_at = models.DateTimeField(db_default=Now())
    failures = models.PositiveIntegerField(default=0)  # since the last acceptance
    accepted_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    failure = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return self.name
