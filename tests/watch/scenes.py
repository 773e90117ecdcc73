"""What goes wrong in these tests, and time that passes for what is kept."""

from collections.abc import Mapping
from datetime import timedelta

from django.db import connection

from delivery.models import AlarmRow, AlarmWay, Watch
from delivery.models import Worker as WorkerRow
from delivery.watch.rounds import Pusher, Round, look
from ledgers.clock import database_now
from ledgers.models import Channel, Delivery, Installation, OutboxItem
from ledgers.states import DeliveryStatus as S
from tests.factories import make_channel, record
from tests.ledgers.rows import moment, row_in


def beat(ago_s: float = 0.0) -> WorkerRow:
    """A worker that gave its last sign of life so long ago."""
    WorkerRow.objects.all().delete()
    return WorkerRow.objects.create(
        name="host:1:x", host="host", pid=1, build="b", mode="resident",
        beat_at=database_now() - timedelta(seconds=ago_s),
    )  # fmt: skip


def unknown(age_s: float, run_id: str = "run-1") -> Delivery:
    """A delivery on `alerts` that has been unknown for so long."""
    row = row_in(S.UNKNOWN, run_id)
    OutboxItem.objects.filter(pk=row.pk).update(leased=False, due_at=moment() + timedelta(days=1))
    since = database_now() - timedelta(seconds=age_s)
    Delivery.objects.filter(pk=row.pk).update(unknown_since=since)
    return row


def leave(row: Delivery) -> None:
    """A person has decided to leave it undelivered: it stays unknown and alarms nobody."""
    Delivery.objects.filter(pk=row.pk).update(decision="leave", decided_at=database_now())


def overdue(age_s: float, run_id: str = "run-1") -> Delivery:
    """A delivery on `alerts` that has been due for so long."""
    row = record(run_id=run_id)[0]
    OutboxItem.objects.filter(pk=row.pk).update(due_at=database_now() - timedelta(seconds=age_s))
    return row


def channels(number: int) -> list[Channel]:
    return [make_channel(f"alerts-{n:02d}") for n in range(number)]


def installed(ago_s: float) -> None:
    Installation.objects.update(created_at=database_now() - timedelta(seconds=ago_s))


def push() -> Round:
    """One look, and what it tells."""
    return Pusher().push(look())


_MOMENTS: Mapping[str, tuple[str, ...]] = {
    AlarmRow._meta.db_table: ("since", "better_since", "ended_at", "raised_at"),
    AlarmWay._meta.db_table: ("lease_until", "next_at"),
    Watch._meta.db_table: ("seen_at",),
}


def pass_s(seconds: float) -> None:
    """Let time pass for all that the watch keeps."""
    with connection.cursor() as cursor:
        for name, columns in _MOMENTS.items():
            moved = ", ".join(f"{c} = {c} - make_interval(secs => %(s)s)" for c in columns)
            cursor.execute(f"UPDATE {name} SET {moved}", {"s": seconds})
