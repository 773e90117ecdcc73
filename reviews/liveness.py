"""Workers as they last reported themselves."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from delivery.models import Worker
from delivery.silence import SILENT_S
from ledgers.clock import database_now

SHOWN = 12
SKEWED_S = 5.0


@dataclass(frozen=True, slots=True)
class Sign:
    """One worker. `state`: alive, silent (it never said good-bye) or stopped."""

    worker: Worker
    state: str
    age_s: float

    @property
    def skewed(self) -> bool:
        return abs(self.worker.clock_offset_s) > SKEWED_S


def signs() -> list[Sign]:
    """The workers of the last day, the latest sign of life first."""
    now = database_now()
    rows = Worker.objects.filter(beat_at__gte=now - timedelta(days=1))
    return [_sign(row, now) for row in rows.order_by("-beat_at")[:SHOWN]]


def _sign(row: Worker, now: datetime) -> Sign:
    age_s = (now - row.beat_at).total_seconds()
    if row.stopped_at is not None:
        return Sign(row, "stopped", age_s)
    return Sign(row, "alive" if age_s <= SILENT_S else "silent", age_s)
