"""A worker reports that it is alive, and how far its clock is from the database's."""

import os
import secrets
import socket
import time

from django.conf import settings
from django.db import connection

from delivery.models import Worker as WorkerRow
from delivery.submit import Identity
from delivery.timing import boottime
from ledgers.clock import ClockTimestamp

BEAT_S = 5.0


def new_identity() -> Identity:
    """A name that no other process start has."""
    host = socket.gethostname()[:60]
    name = f"{host}:{os.getpid()}:{secrets.token_hex(3)}"
    return Identity(name, host, settings.COUNTERFOIL_BUILD)


def ensure_row(who: Identity, mode: str) -> WorkerRow:
    """The row under which a worker reports, made if there is none yet."""
    row, _ = WorkerRow.objects.get_or_create(
        name=who.name,
        defaults={"host": who.host, "pid": os.getpid(), "build": who.build, "mode": mode},
    )
    return row


class Heartbeat:
    """Beats at most every five seconds; the row is made by the first beat."""

    def __init__(self, who: Identity, mode: str) -> None:
        self._who, self._mode = who, mode
        self._next = 0.0
        self._claimed = 0

    def beat(self, claimed: int, settled: int) -> None:
        """Report, if it is time to."""
        if boottime() < self._next:
            return
        self._next = boottime() + BEAT_S
        row = ensure_row(self._who, self._mode)
        took = {} if claimed == self._claimed else {"claimed_at": ClockTimestamp()}
        WorkerRow.objects.filter(pk=row.pk).update(
            beat_at=ClockTimestamp(),
            clock_offset_s=_clock_offset_s(),
            claimed=claimed,
            settled=settled,
            **took,
        )
        self._claimed = claimed

    def stop(self, claimed: int, settled: int) -> None:
        """Say good-bye, so that a silent end can be told from an orderly one."""
        took = {} if claimed == self._claimed else {"claimed_at": ClockTimestamp()}
        WorkerRow.objects.filter(name=self._who.name).update(
            beat_at=ClockTimestamp(),
            stopped_at=ClockTimestamp(),
            claimed=claimed,
            settled=settled,
            **took,
        )


def _clock_offset_s() -> float:
    before = time.time()
    with connection.cursor() as cursor:
        # The server's own clock, also where the demo puts the one of its ledgers back.
        cursor.execute("SELECT extract(epoch FROM pg_catalog.clock_timestamp())::float8")
        there = float(cursor.fetchone()[0])
    return (before + time.time()) / 2 - there
