"""What stays of a run when its records are purged: a receipt, and tombstones of its identities."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from ledgers.models.trail import MAX_ACTOR
from ledgers.states import DeliveryStatus, RunStatus


class Purge(models.Model):
    """The receipt of one purge: which rows are gone, by whose word, under which policy.

    To insert it is to purge: triggers check that each run may go, fill in what is gone, leave
    tombstones, remove the rows and write the event, which holds the hash of it all and is sealed.
    """

    at = models.DateTimeField()
    actor = models.CharField(max_length=MAX_ACTOR)
    reason = models.TextField()
    policy_s = models.FloatField()  # seconds that everything was older than
    runs = ArrayField(models.BigIntegerField())  # by the numbers they had
    events = ArrayField(models.BigIntegerField())
    attempts = ArrayField(models.BigIntegerField())
    evidence = ArrayField(models.BigIntegerField())

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"receipt {self.pk}"


class RunTombstone(models.Model):
    """A run that is over and purged. Its name and its trigger never begin another one."""

    run_id = models.CharField(max_length=200, unique=True)
    trigger_key = models.CharField(max_length=200, unique=True, null=True)  # noqa: DJ001  as of a run
    agent = models.CharField(max_length=200)
    status = models.CharField(max_length=12, choices=RunStatus)
    finished_at = models.DateTimeField()
    purge = models.ForeignKey(Purge, on_delete=models.PROTECT, related_name="tombstones")

    def __str__(self) -> str:
        return self.run_id


class DeliveryTombstone(models.Model):
    """A delivery that came to rest and is purged: what became of it, and when."""

    delivery_id = models.UUIDField(primary_key=True)
    run = models.ForeignKey(RunTombstone, on_delete=models.PROTECT, related_name="deliveries")
    status = models.CharField(max_length=12, choices=DeliveryStatus)
    finished_at = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.delivery_id)
