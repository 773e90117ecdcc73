"""Workers as they report themselves, and what they share. What they work on is in `ledgers`."""

from django.db import models
from django.db.models.functions import Now

from ledgers.models import Channel


class Worker(models.Model):
    """One process start of a worker. A row that stops beating is a worker that is gone."""

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

    class Meta:
        ordering = ("-beat_at",)
        # The liveness questions: who has beaten lately.
        indexes = (models.Index(fields=("beat_at",), name="worker_beat"),)

    def __str__(self) -> str:
        return self.name


class ChannelMeter(models.Model):
    """The token bucket of a channel with a rate limit; see `delivery.limits`."""

    channel = models.OneToOneField(
        Channel, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    tokens = models.FloatField()
    refilled_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.tokens:.1f} tokens"
