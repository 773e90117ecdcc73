"""Who takes care of what, so that two people do not work on the same delivery."""

from collections.abc import Sequence

from django.db import transaction

from ledgers.clock import ClockTimestamp
from ledgers.models import Event
from reviews.records import Assignment


def assign(ids: Sequence[int], person: str) -> None:
    """Let these deliveries be somebody's; who had them before is in the trail."""
    with transaction.atomic():
        before = dict(
            Assignment.objects.filter(delivery__in=ids).values_list("delivery_id", "person")
        )
        Assignment.objects.bulk_create(
            [Assignment(delivery_id=row_id, person=person) for row_id in ids],
            update_conflicts=True,
            unique_fields=["delivery"],
            update_fields=["person"],
        )
        Event.objects.bulk_create(
            Event(
                at=ClockTimestamp(),
                kind="assign",
                actor=person,
                delivery_id=row_id,
                detail={"from": before[row_id]} if row_id in before else {},
            )
            for row_id in ids
            if before.get(row_id) != person
        )
