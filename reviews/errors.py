"""What can go wrong when people decide, one sentence per class."""

from ledgers.errors import LedgerError
from reviews.judged import Refusal


class NotAllowedError(LedgerError):
    """A decision is refused; nothing was changed. It says why, and what would make it allowed."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


class VoidError(NotAllowedError):
    """A request is void: everything that it was about has moved since."""
