"""Deliveries brought to where people decide about them, by real workers and a real recipient."""

from datetime import timedelta
from typing import Any

from django.db import connection

from delivery.simulator.client import Simulator
from ledgers.clock import database_now
from ledgers.models import Channel, Delivery, OutboxItem
from reviews.kinds import Kind
from reviews.wishes import Wish
from tests.commands.shell import typed
from tests.factories import deliveries, make_channel, make_due, record, sweep

ROOM = "room:ops"
BLIND = {"look_up_by_key": False, "look_up_by_id": False, "scan": False}


def channel(recipient: Simulator, **fields: Any) -> Channel:
    """The channel `alerts` to this recipient; `settings` are added to its address."""
    settings = {"url": recipient.url} | fields.pop("settings", {})
    usual: dict[str, Any] = {"adapter": "simulator", "deadline_s": 2, "margin_s": 0.5, "lease_s": 5}
    return make_channel(settings=settings, **usual | fields)


def unknown(
    recipient: Simulator, *rooms: str, arrived: bool = True, run_id: str = "run-1", **kwargs: Any
) -> list[Delivery]:
    """Deliveries whose answers were lost, after the recipient acted or before.

    They became unknown one after another, so that an order by age is the order given.
    """
    wanted = rooms or (ROOM,)
    for room in wanted:
        recipient.behave(room, "accept_and_reset" if arrived else "reset")
    record(list(wanted), run_id=run_id, **kwargs)
    sweep(concurrency=1)
    rows = deliveries(run_id)
    assert {row.status for row in rows} == {"unknown"}
    return rows


def absent(recipient: Simulator, room: str = ROOM) -> Delivery:
    """One that did not arrive, as a complete search has shown."""
    (row,) = unknown(recipient, room, arrived=False)
    settle_delay_over(row)
    assert typed("reconcile").code == 0
    row.refresh_from_db()
    assert (row.status, row.cause.partition(":")[0]) == ("pending", "absent")
    return row


def unknown_and_paused(recipient: Simulator) -> list[Delivery]:
    """An unknown one whose own same key has not been used yet: its pause is not over."""
    Channel.objects.update(retry_schedule=[3600])
    return unknown(recipient)


def failed(recipient: Simulator) -> Delivery:
    """One that the recipient refused for good."""
    recipient.behave(ROOM, "422")
    record([ROOM])
    sweep()
    (row,) = deliveries()
    assert row.status == "failed"
    return row


def settle_delay_over(row: Delivery) -> None:
    """Let it be later than the last attempt's lease and deadline: searches count from then on."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(
            "UPDATE ledgers_attempt SET opened_at = opened_at - interval '1 minute',"
            " closed_at = closed_at - interval '1 minute',"
            " lease_until = lease_until - interval '1 minute' WHERE delivery_id = %s",
            [row.pk],
        )
        cursor.execute(
            "UPDATE ledgers_delivery SET key_first_used_at = key_first_used_at"
            " - interval '1 minute' WHERE id = %s",
            [row.pk],
        )
        cursor.execute("SET session_replication_role = origin")


def let_undo_end(*rows: Delivery) -> None:
    """Let the time pass in which a decision could be taken back."""
    past = database_now() - timedelta(seconds=1)
    Delivery.objects.filter(pk__in=[row.pk for row in rows]).update(undo_until=past)
    make_due(pk__in=[row.pk for row in rows])


def due(row: Delivery) -> Any:
    """When a machine looks at it next, or None."""
    return OutboxItem.objects.filter(pk=row.pk).values_list("due_at", flat=True).first()


def wish(kind: Kind, **fields: Any) -> Wish:
    """A complete wish of this kind."""
    usual: dict[str, Any] = {
        "reason": "the team waits for it",
        "note": "the team says so",
        "link": "https://chat.example/1",
        "typed": ROOM,
    }
    return Wish(kind, **usual | fields)
