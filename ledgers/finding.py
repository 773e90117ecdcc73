"""Finding a delivery by what a person holds in hand: an id, a key, a mark in the message."""

import re
from uuid import UUID

from django.db.models import Q, QuerySet

from ledgers.errors import NotFoundError
from ledgers.models import Channel, Delivery, DeliveryTombstone, Run, RunTombstone

SHORTEST_PREFIX = 4  # hex digits
NAMED = 5  # candidates that an error lists
MEANT = 2_000  # deliveries that are found first, and then shown


def matching(text: str) -> QuerySet[Delivery]:
    """The deliveries that this text names exactly, or whose id begins with it.

    Args:
        text: a delivery id or its beginning, an idempotency key, a recognizer, a provider's id.
    """
    if not text or not text.isprintable():  # a NUL, or bytes that are no text: nothing is called so
        return Delivery.objects.none()
    exact = Q(idempotency_key=text) | Q(recognizer=text.lower()) | Q(provider_message_id=text)
    begins = _begins_with(text)
    return Delivery.objects.filter(exact | begins if begins else exact)


def sought(term: str) -> Q:
    """The deliveries that a person means who types this into a search, by the term's shape.

    Each is served by an index of its own; they are tried in this order.

    Args:
        term: what `matching` knows; a run's id; `@acme.test`, the domain of a destination or its
            beginning; or the beginning of a destination.
    """
    if named := list(matching(term).values_list("pk", flat=True)[:MEANT]):
        return Q(pk__in=named)
    if run := Run.objects.filter(run_id=term).values_list("pk", flat=True).first():
        return Q(message__step__run=run)
    domain = Q(destination__domain__startswith=term.removeprefix("@").lower())
    if term.startswith("@"):
        return _found_first(domain)
    destination = Q(destination__startswith=term)
    return _found_first(destination | domain if _may_be_a_domain(term) else destination)


def _found_first(condition: Q) -> Q:
    """The condition as the ids it finds, where they are few.

    Asked for the latest rows that meet it, PostgreSQL reads the table from its end and hopes to
    meet them soon. That is right for what is common; for what is rare it reads a million rows.
    """
    ids = list(Delivery.objects.order_by().filter(condition).values_list("pk", flat=True)[:MEANT])
    return Q(pk__in=ids) if len(ids) < MEANT else condition


def _may_be_a_domain(term: str) -> bool:
    return "." in term and not set(term) & set("@/:+ ")


def _begins_with(text: str) -> Q | None:
    """A range of ids, which the index serves; a pattern on the id's text would read every row."""
    digits = text.replace("-", "").lower()
    if not re.fullmatch(rf"[0-9a-f]{{{SHORTEST_PREFIX},32}}", digits):
        return None
    return Q(
        delivery_id__gte=UUID(digits.ljust(32, "0")), delivery_id__lte=UUID(digits.ljust(32, "f"))
    )


def find_delivery(text: str) -> Delivery:
    """The one delivery that this text names.

    Raises:
        NotFoundError: none, or several, and which.
    """
    found = list(matching(text.strip())[: NAMED + 1])
    if not found:
        if gone := _purged_delivery(text.strip()):
            raise NotFoundError(gone)
        raise NotFoundError(
            f"delivery: nothing is known of {text!r}. Right would be: a delivery id or its first"
            f" {SHORTEST_PREFIX} or more digits, an idempotency key, a recognizer (dlv…), or the"
            " provider's id."
        )
    if len(found) > 1:
        names = ", ".join(str(row.delivery_id) for row in found[:NAMED])
        raise NotFoundError(f"delivery: {text!r} names several: {names}. Write more of it.")
    return found[0]


def _purged_delivery(text: str) -> str:
    """What is left to say of a delivery whose records are gone."""
    try:
        stone = DeliveryTombstone.objects.select_related("run").filter(pk=UUID(text)).first()
    except ValueError:  # no id
        return ""
    if stone is None:
        return ""
    return (
        f"delivery: {stone.delivery_id} of run {stone.run.run_id!r} was {stone.status} on"
        f" {stone.finished_at:%Y-%m-%d}; its records were purged under receipt"
        f" {stone.run.purge_id}."
    )


def purged_run(run_id: str) -> str:
    """What is left to say of a run whose records are gone; empty if there is no such run."""
    stone = RunTombstone.objects.filter(run_id=run_id).first() if run_id.isprintable() else None
    if stone is None:
        return ""
    return (
        f"run_id: run {stone.run_id!r} of {stone.agent} was {stone.status} on"
        f" {stone.finished_at:%Y-%m-%d}; its records were purged under receipt"
        f" {stone.purge_id}."
    )


def find_channel(slug: str) -> Channel:
    """The channel of this name, with its credential.

    Raises:
        NotFoundError: naming those there are.
    """
    rows = Channel.objects.select_related("credential")
    found = rows.filter(slug=slug).first() if slug.isprintable() else None
    if found is None:
        there = ", ".join(rows.values_list("slug", flat=True)[:20]) or "none yet"
        raise NotFoundError(f"channel: there is none called {slug!r}. There are: {there}.")
    return found
