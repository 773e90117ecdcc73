"""What can go wrong in delivery, one sentence per class. Each says whether trying again helps."""

from django.db import OperationalError

from ledgers.errors import InvalidValueError


class DeliveryError(Exception):
    """Base of all errors of this app."""


class InvalidInputError(DeliveryError, InvalidValueError):
    """A value given by a caller is wrong; nothing was written. Permanent until it is changed.

    It takes the field's name as the caller wrote it, what is wrong, and what would be right.
    """


class BadDestinationError(InvalidInputError):
    """A destination that no message can be addressed to."""


class BadContentError(InvalidInputError):
    """Content that the channel's adapter can never render."""


class HeldBackError(DeliveryError):
    """The last check before the first byte said no; nothing has left this process."""


class NotSentError(DeliveryError):
    """Raised by a caller's own sender: nothing was sent, trying again is safe."""


class RefusedError(DeliveryError):
    """Raised by a caller's own sender: the recipient said no for good, trying again is useless."""


class OpenTransactionError(DeliveryError):
    """Refusing to send inside a transaction: a roll-back would forget what was sent."""


class SecretError(DeliveryError):
    """A credential's reference leads to no secret now; nothing can be sent until it does."""


class UnknownAdapterError(DeliveryError):
    """A channel names an adapter that does not exist; permanent until the channel is changed."""


class SwitchError(DeliveryError):
    """A pause or a hold cannot be changed like this; the message says what would do."""


class BadReceiptError(DeliveryError):
    """A report that cannot be read, or that the channel's provider does not make."""


class ForgedReceiptError(BadReceiptError):
    """A report that is not proven to come from the provider; nothing it says was believed."""


class EditError(DeliveryError):
    """A channel or credential cannot be changed like this; nothing was. Names the field, if one."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(f"{field}: {text}" if field else text)
        self.field = field


class MarkError(DeliveryError):
    """What this host knew of the ledger cannot be read or kept; nothing is sent until it can be."""


class DatabaseChangedError(OperationalError):
    """The database is not the one that this worker knew; nothing is sent until it is looked at."""
