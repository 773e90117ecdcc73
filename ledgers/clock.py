"""The database's clock, the only one that decides anything."""

from datetime import datetime

from django.db import connection
from django.db.models import DateTimeField, Func


class ClockTimestamp(Func):
    """The moment of evaluation, not of the transaction's start (as `Now()` would be)."""

    function = "clock_timestamp"
    arity = 0
    output_field = DateTimeField()


def database_now() -> datetime:
    """The database's time at this moment."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
        return now
