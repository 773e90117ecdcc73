"""What can go wrong with a backup, one sentence per class."""

from ledgers.errors import LedgerError


class RecoveryError(LedgerError):
    """A backup was not made, or could not be restored. The text says what was wrong."""
