"""Things that addresses of pages name, made when a test asks for them."""

from collections.abc import Callable, Sequence

from django.urls import reverse

from ledgers.models import Delivery, OutboxItem
from ledgers.states import DeliveryStatus as S
from reviews.people import person_of
from reviews.records import Decision
from reviews.selecting import select
from tests.console.people import person
from tests.ledgers.rows import moment, row_in


def an_unknown() -> Delivery:
    """One unknown delivery that nobody holds; the same one each time."""
    found = Delivery.objects.filter(status=S.UNKNOWN).first()
    if found is None:
        found = row_in(S.UNKNOWN)
        OutboxItem.objects.filter(pk=found.pk).update(leased=False, due_at=moment())
    return found


def a_selection() -> Decision:
    """A triager's selection of it; the same one each time."""
    found = Decision.objects.first()
    row = an_unknown()
    return found or select(person_of(person("triager")), {row.pk: row.row_version})


NAMED: dict[str, Callable[[], object]] = {
    "{delivery}": lambda: an_unknown().delivery_id,
    "{decision}": lambda: a_selection().pk,
    "{run}": lambda: an_unknown().message.step.run_id,
}


def address(name: str, args: Sequence[str]) -> str:
    """The address of a page, with the things that its arguments stand for."""
    return reverse(f"admin:{name}", args=[NAMED[a]() if a in NAMED else a for a in args])
