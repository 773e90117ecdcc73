"""The switches of an operator: pause or resume one channel, hold or release everything.

Each takes a reason, changes its row only if it still stands as the operator saw it, and is an
event in the trail. A worker that runs learns of it within a second or two; what is on the wire by
then cannot be called back.
"""

from datetime import datetime

from django.db import connection, transaction

from delivery.errors import SwitchError
from ledgers import outbox
from ledgers.clock import ClockTimestamp
from ledgers.models import Channel, Installation
from ledgers.trail import log

MAX_REASON = 300  # characters
# More are found by the workers themselves within half a minute.
WOKEN = 5_000
PAUSED, HELD = "channel paused", "everything is held"


def reason_of(text: str) -> str:
    """A reason as it is kept.

    Raises:
        SwitchError: it is none.
    """
    reason = " ".join(text.split())
    if not reason or not reason.isprintable() or len(reason) > MAX_REASON:
        raise SwitchError(f"Say why, in 1 to {MAX_REASON} characters: others will ask.")
    return reason


def pause(channel: Channel, reason: str, actor: str) -> None:
    """Send nothing new through this channel until it is resumed.

    Raises:
        SwitchError: no reason, or somebody paused it already.
    """
    why = reason_of(reason)
    with transaction.atomic():
        rows = Channel.objects.filter(pk=channel.pk, paused_at=None)
        # Zero rows: somebody else was quicker, and their reason stays.
        if not rows.update(paused_at=ClockTimestamp(), pause_reason=why):
            raise SwitchError(f"{channel} is paused already. Resume it first to pause it anew.")
        log("pause", actor, detail={"channel": channel.slug, "reason": why})


def resume(channel: Channel, seen: datetime | None, reason: str, actor: str) -> None:
    """Let what is owed go on, at once.

    Args:
        channel: which.
        seen: the moment of the pause that the operator looked at.
        reason: why it may go on.
        actor: who resumes it.

    Raises:
        SwitchError: no reason, or it is not paused as it was when the operator looked.
    """
    why = reason_of(reason)
    with transaction.atomic():
        rows = Channel.objects.filter(pk=channel.pk, paused_at=seen, paused_at__isnull=False)
        if not rows.update(paused_at=None, pause_reason=""):
            raise SwitchError(
                f"{channel} is not paused as it was when you looked. Look again at what"
                " resuming would send."
            )
        log("resume", actor, detail={"channel": channel.slug, "reason": why})
        wake([channel.pk], PAUSED)


def hold(reason: str, actor: str) -> None:
    """Send nothing at all until it is released.

    Raises:
        SwitchError: no reason, or everything is held already.
    """
    why = reason_of(reason)
    with transaction.atomic():
        rows = Installation.objects.filter(held_at=None)
        if not rows.update(held_at=ClockTimestamp(), held_reason=why):
            raise SwitchError("Everything is held already. Release it first to hold it anew.")
        log("hold_all", actor, detail={"reason": why})


def release(seen: datetime | None, reason: str, actor: str) -> None:
    """End the hold of everything; paused channels stay paused.

    Raises:
        SwitchError: no reason, it is not held as it was when the operator looked, or it is the hold
            of a restore, which takes more (`delivery.lifting`).
    """
    why = reason_of(reason)
    with transaction.atomic():
        row = held_as_seen(seen)
        if row.restoring or row.unsure_at:
            raise SwitchError(
                "It is held because of where this database comes from. Say what that was:"
                " manage.py release --help, and docs/restore.md."
            )
        Installation.objects.update(held_at=None, held_reason="")
        log("release_all", actor, detail={"reason": why})
        wake_all()


def held_as_seen(seen: datetime | None) -> Installation:
    """The installation's row, locked, with the hold that the operator looked at.

    Raises:
        SwitchError: that hold is over, or there is another one.
    """
    row = Installation.objects.select_for_update().get()
    if seen is None or row.held_at != seen:
        raise SwitchError(
            "It is not held as it was when you looked. Look again at what releasing would send."
        )
    return row


def wake_all() -> None:
    """Make due what waits for the end of the hold of everything."""
    wake(list(Channel.objects.values_list("pk", flat=True)), HELD)


def wake(channels: list[int], held_by: str) -> None:
    """Make due what waits for this, a part of its cause. Who holds a lease looks again anyway."""
    with connection.cursor() as cursor:
        cursor.execute(_WAKE, [channels, f"%{held_by}%", WOKEN])
    outbox.notify()


_WAKE = """
UPDATE ledgers_outboxitem SET due_at = clock_timestamp() WHERE delivery_id = ANY(ARRAY(
    SELECT o.delivery_id FROM ledgers_outboxitem o
    JOIN ledgers_delivery d ON d.id = o.delivery_id
    WHERE o.channel_id = ANY(%s) AND NOT o.leased AND o.due_at > (SELECT clock_timestamp())
      AND d.cause LIKE %s
    ORDER BY o.due_at LIMIT %s FOR UPDATE OF o SKIP LOCKED))"""
