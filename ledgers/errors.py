"""What can go wrong in the ledgers, one sentence per class."""


class LedgerError(Exception):
    """Base of all errors of this app."""


class InvalidValueError(LedgerError):
    """A value cannot be kept as it is; nothing was written.

    Args:
        field: the name of the field, as the caller wrote it.
        problem: what is wrong with it.
        right: what a right value looks like.
    """

    def __init__(self, field: str, problem: str, right: str) -> None:
        super().__init__(f"{field}: {problem}. Right would be: {right}.")
        self.field = field
        self.problem = problem
        self.right = right


class ConflictError(LedgerError):
    """The same step was started before with another input."""


class LeaseHeldError(LedgerError):
    """Another process holds the step's lease; the message says until when."""


class LeaseLostError(LedgerError):
    """The caller's lease ran out and another process started the step."""


class CrashLoopError(LedgerError):
    """The run is stopped because one of its steps kills its process; a person must resolve it."""


class RunEndedError(LedgerError):
    """The run is completed; a new unit of work needs a run of its own."""


class PurgedError(LedgerError):
    """The run is over and its records were removed; it is not begun again."""


class ErasedError(LedgerError):
    """The step is done and its result was erased; it is not done again."""


class NotMigratedError(LedgerError):
    """The database has not the tables of this version; migrating it is what helps."""

    def __init__(self) -> None:
        super().__init__(
            "The database is not migrated. Run: make run, or .venv/bin/python manage.py migrate"
        )


class LostWriteError(LedgerError):
    """A statement reported fewer rows than it must have written; all of it was rolled back."""


class NotFoundError(LedgerError):
    """No row has this name."""
