"""Finding a delivery by what a person holds in hand: an id, a key, a mark in the message."""

import re
from uuid import UUID

from django.db.models import Q, QuerySet

from ledgers.errors import NotFoundError
from ledgers.models import Delivery

SHORTEST_PREFIX = 4  # hex digits
NAMED = 5  # candidates that an error lists


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
        raise NotFoundError(
            f"delivery: nothing is known of {text!r}. Right would be: a delivery id or its first"
            f" {SHORTEST_PREFIX} or more digits, an idempotency key, a recognizer (dlv…), or the"
            " provider's id."
        )
    if len(found) > 1:
        names = ", ".join(str(row.delivery_id) for row in found[:NAMED])
        raise NotFoundError(f"delivery: {text!r} names several: {names}. Write more of it.")
    return found[0]
