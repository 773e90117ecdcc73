"""Things that addresses of pages name, made when a test asks for them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from django.urls import reverse

from ledgers.models import Channel, Delivery, OutboxItem
from ledgers.states import DeliveryStatus as S
from reviews.people import person_of
from reviews.proposals import Proposal
from reviews.proposing import draft
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


def a_proposal() -> Proposal:
    """An operator's change that nobody has asked for yet; the same one each time."""
    channel = Channel.objects.get(slug="alerts")
    found = Proposal.objects.first()
    operator = person_of(person("operator-admin"))
    return found or draft(operator, channel, {"rate_per_s": 5.0}, channel.row_version)


NAMED: dict[str, Callable[[], object]] = {
    "{delivery}": lambda: an_unknown().delivery_id,
    "{decision}": lambda: a_selection().pk,
    "{proposal}": lambda: a_proposal().pk,
    "{new}": lambda: f"new-{uuid4().hex[:8]}",
    "{run}": lambda: an_unknown().message.step.run_id,
}


def address(name: str, args: Sequence[str]) -> str:
    """The address of a page, with the things that its arguments stand for."""
    return reverse(f"admin:{name}", args=[NAMED[a]() if a in NAMED else a for a in args])


def filled(form: Mapping[str, Any]) -> dict[str, Any]:
    """A form, with the things that its values stand for."""
    return {k: NAMED[v]() if isinstance(v, str) and v in NAMED else v for k, v in form.items()}
