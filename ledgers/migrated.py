"""Whether the database has the ledgers that this version of the code writes.

Asked before a run is opened: a step that stumbles over a missing column later would leave a run
that failed for no fault of its agent's.
"""

import pkgutil
from functools import cache

from django.db import ProgrammingError, connection

from ledgers import migrations
from ledgers.errors import NotMigratedError

_seen: set[tuple[str, ...]] = set()  # databases that had everything: they lose none of it


def require() -> None:
    """Ask once per process and database; an agent opens many runs.

    Raises:
        NotMigratedError: a migration of the ledgers is missing; migrating is what helps.
    """
    database = tuple(str(connection.settings_dict[part]) for part in ("HOST", "PORT", "NAME"))
    if database in _seen:
        return
    missing = _known() - _applied()
    if missing:
        raise NotMigratedError
    _seen.add(database)


@cache
def _known() -> frozenset[str]:
    """By their files: loading every app's migrations takes longer than most runs."""
    return frozenset(one.name for one in pkgutil.iter_modules(migrations.__path__))


def _applied() -> set[str]:
    with connection.cursor() as cursor:
        try:
            cursor.execute("SELECT name FROM django_migrations WHERE app = 'ledgers'")
        except ProgrammingError:  # there is no such table yet; an agent needs no more to know
            raise NotMigratedError from None
        return {name for (name,) in cursor.fetchall()}
