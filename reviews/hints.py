"""What each decision does, in half a sentence beside its name: where it is chosen, before any page
of its own.
"""

from collections.abc import Collection, Iterable

from ledgers.states import DeliveryStatus
from reviews.kinds import NEEDS, Kind

_HINTS = {
    Kind.ARRIVED: "it counts as delivered, on what you saw; nothing is sent",
    Kind.SEND_SAME_KEY: "once more under the same key, which the provider recognises",
    Kind.SEND_AFTER_ABSENT: "once more, since the earlier one did not arrive",
    Kind.SEND_OTHERWISE: "under a new key and with a mark: people may get it twice",
    Kind.RELEASE: "a restore put it in doubt, and you know that it was not sent; it goes out",
    Kind.TRY_AGAIN: "it is known not to have been sent",
    Kind.LEAVE: "it stays as it is and asks nobody any more; a later decision may still send it",
    Kind.DISCARD: "it stays expired, and counts as decided",
    Kind.LOOK_AGAIN: "a worker searches the destination then; nothing is sent",
    Kind.CANCEL: "withdraws it: it was not sent, and never will be",
    Kind.APPROVE_TRY: "it goes out",
    Kind.REFUSE_TRY: "it is cancelled; nothing is sent",
}
# What may have left cannot be called back: the same word does less then.
_MAY_HAVE_LEFT = frozenset({DeliveryStatus.UNKNOWN, DeliveryStatus.SUBMITTING})
_TOO_LATE = (
    "too late, it may have been sent: forbids every further send, for good; the question stays open"
)


def hint(kind: Kind, statuses: Collection[DeliveryStatus]) -> str:
    """What this decision does to deliveries in these statuses."""
    if kind == Kind.CANCEL and _MAY_HAVE_LEFT.intersection(statuses):
        late = _MAY_HAVE_LEFT.issuperset(statuses)
        return _TOO_LATE if late else f"{_HINTS[kind]}; for what may have been sent it is too late"
    return _HINTS[kind]


def needing_a_sighting(kinds: Iterable[Kind]) -> list[str]:
    """Those of them, by name, that take what a person saw themselves."""
    return [str(kind.label) for kind in kinds if NEEDS[kind].note]
