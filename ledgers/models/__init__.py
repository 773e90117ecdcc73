"""The rows of both ledgers. `ledgers.moves` and `ledgers.execution` are the only writers."""

from ledgers.models.delivery import Attempt, Delivery, Evidence, Message, OutboxItem
from ledgers.models.execution import Run, Step
from ledgers.models.retention import DeliveryTombstone, Purge, RunTombstone
from ledgers.models.sealing import Seal, Unsealed
from ledgers.models.settings import Channel, Credential, Installation
from ledgers.models.trail import Event

__all__ = [
    "Attempt",
    "Channel",
    "Credential",
    "Delivery",
    "DeliveryTombstone",
    "Event",
    "Evidence",
    "Installation",
    "Message",
    "OutboxItem",
    "Purge",
    "Run",
    "RunTombstone",
    "Seal",
    "Step",
    "Unsealed",
]
