"""Time passes by making everything older. Tests never wait for a lease, an hour or a week."""

import time
from functools import cache
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.db import connection, transaction
from django.db.models import DateTimeField

from delivery.crashlab.points import freeze


def pass_s(seconds: float) -> None:
    """Let so many seconds pass for every row of both ledgers, and for every decision.

    The triggers that keep the record from being changed are off for this one transaction: the
    tests' own server lets its superuser do so, production's role cannot.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        for statement in _statements():
            cursor.execute(statement, {"s": seconds})
    _skipped_file().parent.mkdir(parents=True, exist_ok=True)
    _skipped_file().write_text(str(skipped_s() + seconds))


def skipped_s() -> float:
    """How much time was let pass so far in this session."""
    return float(_skipped_file().read_text()) if _skipped_file().exists() else 0.0


def sleep() -> None:
    """Stop this process; the clock that counts suspension goes on with everybody else's."""
    before, original = skipped_s(), time.clock_gettime
    freeze()
    slept_s = skipped_s() - before
    time.clock_gettime = lambda clock: original(clock) + slept_s


def _skipped_file() -> Path:
    return Path(str(settings.CACHES["default"]["LOCATION"])) / "skipped"


@cache
def _statements() -> list[str]:
    """One per table, for all its moments."""
    moments = {
        model._meta.db_table: [
            field.column for field in model._meta.fields if isinstance(field, DateTimeField)
        ]
        for label in ("ledgers", "delivery", "reviews")
        for model in apps.get_app_config(label).get_models()
    }
    return [
        f'UPDATE "{table}" SET '
        + ", ".join(f'"{one}" = "{one}" - make_interval(secs => %(s)s)' for one in columns)
        for table, columns in moments.items()
        if columns
    ]
