"""The past, played with the product's own code: a session in which the database's clock is behind.

Every moment in the ledgers is the database's `clock_timestamp()`. In a session whose search path
names a schema with a function of that name before `pg_catalog`, that one is called instead, also
by triggers. So the rows are real: only the clock they were written by was put back. What takes its
moment from a column's default is bound to the true function, so these defaults are led to the
schema for as long. Both are taken away afterwards.

Python's clock decides nothing about a row. Where a process measures a duration (leases against
suspension, the breaker) it goes on in real time; whoever plays jumps over the waiting.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import connection

from config.demo.sample import refuse_unless_sample
from delivery.simulator.client import Simulator
from ledgers.clock import database_now

SCHEMA = "sampleday"
_DEFAULTS = """
SELECT format('%%I.%%I', n.nspname, c.relname), a.attname
FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
WHERE n.nspname = 'public' AND pg_get_expr(d.adbin, d.adrelid) = %s"""
_TRUE = "statement_timestamp()"
_MAKE = f"""
CREATE SCHEMA {SCHEMA};
CREATE FUNCTION {SCHEMA}.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
    SELECT pg_catalog.clock_timestamp() - current_setting('{SCHEMA}.behind')::interval
$$;"""

_GO = """
SELECT extract(epoch FROM behind)::float8, set_config('sampleday.behind', behind::text, false),
    set_config('search_path', 'sampleday, pg_catalog, public', false),
    set_config('synchronous_commit', 'off', false)  -- sample data may be lost with the machine
FROM (SELECT pg_catalog.clock_timestamp() - %s AS behind) AS b"""


class Past:
    """The clock while the past is played. It only goes forward.

    Attributes:
        now: the present, in which the past ends.
        reached: where the clock was put last.
    """

    def __init__(self, now: datetime, recipient: Simulator) -> None:
        self.now = now
        self._recipient = recipient
        self.reached = datetime.min.replace(tzinfo=now.tzinfo)

    def go_to(self, moment: datetime) -> None:
        """Let it be this moment, here and at the recipient, from which time goes on.

        Raises:
            ValueError: that is over already, or still to come: a trail tells things in order.
        """
        if not self.reached <= moment <= self.now:
            raise ValueError(f"{moment} is not between {self.reached} and {self.now}")
        self.reached = moment
        with connection.cursor() as cursor:
            cursor.execute(_GO, [moment])
            behind_s: float = cursor.fetchone()[0]
        self._recipient.set_clock(-behind_s)


@contextmanager
def the_past(recipient: Simulator) -> Iterator[Past]:
    """Within the block the database's clock, and the recipient's, are where they are put.

    Raises:
        MisuseError: the database is not a sample.
    """
    refuse_unless_sample()
    now = database_now()
    try:
        with connection.cursor() as cursor:
            cursor.execute(_MAKE)
        _lead_defaults(_TRUE, f"{SCHEMA}.clock_timestamp()")
        yield Past(now, recipient)
    finally:
        _return()
        recipient.set_clock(0)


def _return() -> None:
    """The true clock again, for every session.

    This one ends, in whatever state an error or Ctrl-C has left it.
    """
    connection.close()
    _lead_defaults(f"{SCHEMA}.clock_timestamp()", _TRUE)
    with connection.cursor() as cursor:
        cursor.execute(f"DROP SCHEMA {SCHEMA} CASCADE")


def _lead_defaults(old: str, new: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_DEFAULTS, [old])
        for table, column in cursor.fetchall():
            cursor.execute(f'ALTER TABLE {table} ALTER COLUMN "{column}" SET DEFAULT {new}')
