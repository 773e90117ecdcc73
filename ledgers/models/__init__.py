"""The rows of both ledgers. `ledgers.moves` and `ledgers.execution` are the only writers."""

from ledgers.models.delivery import Attempt, Delivery, Evidence, Message, OutboxItem
from ledgers.models.execution import Run, Step
from ledgers.models.sealing import Seal, Unsealed
from ledgers.models.settings import Channel, Credential, Installation
from ledgers.models.trail import Event

__all__ = [
    "Attempt",
    "Channel",
    "Credential",
    "Delivery",
    "Event",
    "Evidence",
    "Installation",
    "Message",
    "OutboxItem",
    "Run",
    "Seal",
    "Step",
    "Unsealed",
]
