"""The trail: who moved or decided what, when, why, under which rule. Append-only."""

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models.functions import Now

from ledgers.models.delivery import Attempt, Delivery
from ledgers.models.execution import Run, Step

MAX_ACTOR = 100  # characters
# What happened to channels and credentials.
OF_SETTINGS = (
    "add_channel", "change_channel", "pause", "resume", "add_credential", "change_credential",
)  # fmt: skip
# Moves of which every delivery has its own.
USUAL_KINDS = ("record", "begin", "accept")
# Where a delivery comes to rest.
ENDED = ("delivered", "unknown", "failed", "expired", "cancelled")
ENDS = models.Q(to_status__in=ENDED) & ~models.Q(from_status=models.F("to_status"))
# Agents are no people, and no workers, whose names are host:pid:mark.
BY_PEOPLE = ~models.Q(actor__contains=":") & ~models.Q(actor="agent")


class Event(models.Model):
    """One move or decision. Triggers refuse to change or remove it."""

    at = models.DateTimeField(db_default=Now())
    kind = models.CharField(max_length=30)
    run = models.ForeignKey(Run, null=True, on_delete=models.PROTECT, related_name="events")
    # Step and attempt have no constraint in the database: without an index on them (which every
    # event would pay for) a purge would read the whole trail for each row it removes. That they
    # are there is an invariant.
    step = models.ForeignKey(
        Step,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    delivery = models.ForeignKey(
        Delivery, null=True, on_delete=models.PROTECT, related_name="events", db_index=False
    )
    attempt = models.ForeignKey(
        Attempt,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    from_status = models.CharField(max_length=12, blank=True)
    to_status = models.CharField(max_length=12, blank=True)
    # The delivery's version that this move made.
    row_version = models.PositiveIntegerField(null=True)
    rule = models.CharField(max_length=30, blank=True)
    # Canonical JSON of the facts and the moment that the rule saw.
    inputs = models.TextField(blank=True)
    actor = models.CharField(max_length=MAX_ACTOR)
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ("id",)
        constraints = (
            # Each status is explained by exactly one event; also the timeline of one delivery.
            models.UniqueConstraint(
                fields=("delivery", "row_version"),
                name="event_explains_status",
                condition=models.Q(delivery__isnull=False),
            ),
        )
        indexes = (
            # The trail of an hour or a day. Tiny: events are appended in the order of time.
            BrinIndex(fields=("at",), name="event_at", pages_per_range=32, autosummarize=True),
            # The history of one channel or credential, on its page.
            models.Index(
                fields=("id",), name="event_of_settings", condition=models.Q(kind__in=OF_SETTINGS)
            ),
            # What became of deliveries, hour by hour: the chart of the overview reads nothing else.
            models.Index(fields=("at",), name="event_ends", include=("to_status",), condition=ENDS),
            # The trail of one person, or of people only. Small: machines write nearly all of it.
            models.Index(fields=("actor", "id"), name="event_by_person", condition=BY_PEOPLE),
            # The trail of one kind, where it is one that is rare.
            models.Index(
                fields=("kind", "id"),
                name="event_by_kind",
                condition=~models.Q(kind__in=USUAL_KINDS),
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} at {self.at:%Y-%m-%d %H:%M:%S}"
