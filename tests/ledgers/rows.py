"""Deliveries brought into each status by the moves themselves."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from ledgers import evidence, moves, outbox
from ledgers.clock import database_now
from ledgers.evidence import Closing
from ledgers.models import Attempt, Channel, Delivery, Event, OutboxItem
from ledgers.moves import Change, Opening
from ledgers.states import DeliveryStatus as S
from tests.factories import record


def change_of(row: Delivery, **fields: Any) -> Change:
    """A change of this row as it is now, by a person (no fence)."""
    row.refresh_from_db()
    change = Change(
        id=row.pk,
        status=S(row.status),
        version=row.row_version,
        fence=None,
        rule="tested",
        cause="tested: because",
        actor="tester",
    )
    return replace(change, **fields)


def opening_of(row: Delivery, **fields: Any) -> Opening:
    """A write-ahead for this row as it is now, under its present fence."""
    row.refresh_from_db()
    return Opening(
        change=change_of(row, **{"fence": row.fence} | fields),
        worker="worker",
        host="host",
        build="build",
        key_scope="endpoint",
        authority='{"credential": "alerts-key", "destination_rule": "*"}',
        deadline_s=5,
    )


def lease(*rows: Delivery) -> None:
    """Make these rows' items leased, whatever is owed of them."""
    outbox.wake(row.pk for row in rows)
    outbox.claim(dict.fromkeys(Channel.objects.values_list("pk", flat=True), 1000))


def begin(row: Delivery) -> Attempt:
    """Claim the row and write an attempt ahead."""
    lease(row)
    opened = moves.begin([opening_of(row)])
    return Attempt.objects.get(pk=opened[row.pk].attempt_id)


def close(attempt: Attempt, outcome: str = "ambiguous", **fields: Any) -> None:
    evidence.close_attempts([Closing(attempt.pk, outcome, "written", 10, **fields)])


def row_in(status: S, run_id: str = "run-1") -> Delivery:
    """A delivery that the moves brought into this status."""
    row = record(run_id=run_id)[0]
    _BRINGING[status](row)
    row.refresh_from_db()
    assert row.status == status
    return row


def _stay(row: Delivery) -> None:
    del row


def _submit(row: Delivery) -> None:
    begin(row)


def _lose(row: Delivery) -> None:
    close(begin(row))
    moves.suspect([change_of(row, due_at=database_now())])


def _deliver(row: Delivery) -> None:
    close(begin(row), "accepted")
    moves.accept([change_of(row)])


def _fail(row: Delivery) -> None:
    close(begin(row), "refused", permanent=True)
    moves.fail([change_of(row)])


def _expire(row: Delivery) -> None:
    moves.expire([change_of(row)])


def _cancel(row: Delivery) -> None:
    evidence.withdraw([row.pk], "tester", "not wanted")
    moves.cancel([change_of(row)])


_BRINGING: dict[S, Callable[[Delivery], None]] = {
    S.PENDING: _stay,
    S.SUBMITTING: _submit,
    S.UNKNOWN: _lose,
    S.DELIVERED: _deliver,
    S.FAILED: _fail,
    S.EXPIRED: _expire,
    S.CANCELLED: _cancel,
}


def columns(row: Delivery) -> dict[str, Any]:
    """Every column of the row and of its item, as they are now."""
    item = OutboxItem.objects.filter(pk=row.pk).values().first()
    return {**Delivery.objects.filter(pk=row.pk).values().get(), "item": item}


def events_of(row: Delivery) -> list[Event]:
    return list(Event.objects.filter(delivery=row).order_by("pk"))


def last_event(row: Delivery) -> Event:
    return events_of(row)[-1]


def moment() -> datetime:
    return database_now()
