"""Work that ended long ago, and what is there of it."""

from datetime import timedelta

from django.db import connection

from ledgers import seals
from ledgers.models import Delivery, Run
from ledgers.states import DeliveryStatus as S
from tests.ledgers.rows import row_in

DAY_S = 86_400.0
POLICY_S = 30 * DAY_S


def old_run(
    run_id: str = "R-old", status: S = S.DELIVERED, days: int = 40, *, sealed: bool = True
) -> Run:
    """A run with one delivery in this status, all of it so many days ago."""
    row_in(status, run_id)
    age(run_id, days)
    if sealed:
        seals.seal_all()
    return Run.objects.get(run_id=run_id)


def age(run_id: str, days: int) -> None:
    """Put the moments at which a run and its deliveries came to rest so many days back."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE ledgers_run SET started_at = started_at - make_interval(days => %(days)s),"
            " finished_at = finished_at - make_interval(days => %(days)s) WHERE run_id = %(run)s",
            {"days": days, "run": run_id},
        )
    for row in Delivery.objects.filter(message__step__run__run_id=run_id):
        back = timedelta(days=days)
        Delivery.objects.filter(pk=row.pk).update(
            finished_at=row.finished_at and row.finished_at - back,
            decided_at=row.decided_at and row.decided_at - back,
            key_first_used_at=row.key_first_used_at and row.key_first_used_at - back,
        )
