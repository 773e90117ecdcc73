"""Who takes care of what, so that two people do not work on the same delivery."""

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import transaction

from ledgers.clock import ClockTimestamp
from ledgers.models import Event
from ledgers.models.trail import MAX_ACTOR
from reviews.records import Assignment

LISTED = 100  # people to choose from


def assign(ids: Sequence[int], person: str, by: str = "") -> None:
    """Let these deliveries be somebody's; who had them before is in the trail.

    Args:
        ids: the deliveries' numbers.
        person: whose they are now.
        by: who hands them over; nobody when people take them themselves.
    """
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
            _event(row_id, person, by, before.get(row_id, ""))
            for row_id in ids
            if before.get(row_id) != person
        )


def take_first(ids: Sequence[int], person: str) -> int | None:
    """Let the first of these that is nobody's be this person's; None if each is somebody's.

    Two people who ask at once get different ones: the row of an assignment is unique.
    """
    taken = set(Assignment.objects.filter(delivery__in=ids).values_list("delivery_id", flat=True))
    for row_id in (one for one in ids if one not in taken):
        with transaction.atomic():
            _, made = Assignment.objects.get_or_create(
                delivery_id=row_id, defaults={"person": person}
            )
            if made:
                _event(row_id, person, "", "").save()
                return row_id
    return None


def takers() -> list[str]:
    """Who may take care of a delivery, by name."""
    backend = "django.contrib.auth.backends.ModelBackend"
    able = User.objects.with_perm("reviews.triage", backend=backend).order_by("username")
    names = able.filter(is_staff=True).values_list("username", flat=True)[:LISTED]
    return [name[:MAX_ACTOR] for name in names]


def _event(row_id: int, person: str, by: str, before: str) -> Event:
    detail = {"from": before, "to": person if by else ""}
    return Event(
        at=ClockTimestamp(),
        kind="assign",
        actor=by or person,
        delivery_id=row_id,
        detail={name: value for name, value in detail.items() if value},
    )
