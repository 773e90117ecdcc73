"""Is it the database that fails, whatever was asked of it, or is it this one row?

What cannot be written because the database is away is kept and written later. A row that cannot
be stored is set aside, so that it does not hold up the others. To take one for the other loses
answers, or stops everything.
"""

from django.db import Error, InterfaceError, OperationalError

# SQLSTATE (PostgreSQL, appendix A). Class 25 is the state of the transaction: read-only, as after a
# failover, or ended because it was idle. Django has these as InternalError. 42501 and 42P01: the
# role lost its rights, or the table is gone, as while a backup is being restored.
_CLASS_TRANSACTION = "25"
_EVERY_ROW_ALIKE = frozenset({"42501", "42P01"})


def is_outage(error: BaseException) -> bool:
    """Whether the same would have failed for any other row; trying again later may help."""
    if isinstance(error, OperationalError | InterfaceError):
        return True
    state = sqlstate(error)
    return state in _EVERY_ROW_ALIKE or state.startswith(_CLASS_TRANSACTION)


def sqlstate(error: BaseException) -> str:
    """The server's own code for an error of Django's, or an empty string."""
    if not isinstance(error, Error):
        return ""
    return getattr(error.__cause__, "sqlstate", None) or ""
