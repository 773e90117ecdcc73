"""What providers reported, for people: of one delivery, and of one channel."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max

from delivery.models import Receipt, ReceiptTally
from ledgers.models import Channel, Delivery

# What happened after the acceptance; the acceptance itself is the delivery's own status.
AFTERWARDS = ("bounced", "complained", "failed")


def reported(delivery: Delivery) -> list[str]:
    """What went wrong after it was accepted, each kind once."""
    rows = Receipt.objects.filter(delivery=delivery, kind__in=AFTERWARDS)
    return sorted(set(rows.values_list("kind", flat=True)))


@dataclass(frozen=True, slots=True)
class Standing:
    """`counts`: reports by kind. `unmatched`: those that name no delivery that is known yet."""

    counts: Mapping[str, int]
    last_at: datetime | None
    unmatched: int
    tallies: tuple[ReceiptTally, ...]

    @property
    def some(self) -> bool:
        return bool(self.counts or self.tallies)


def standing_of(channel: Channel) -> Standing:
    """How many reports came for a channel, and what became of them."""
    rows = Receipt.objects.filter(channel=channel)
    counted = rows.order_by("kind").values_list("kind").annotate(n=Count("pk"))
    return Standing(
        counts=dict(counted),
        last_at=rows.aggregate(last=Max("received_at"))["last"],
        unmatched=rows.filter(delivery=None).count(),
        tallies=tuple(ReceiptTally.objects.filter(channel=channel).order_by("reason")),
    )
