"""What people say about a database that is held because of where it comes from.

Three answers: it is the one it always was; it was restored; and, once all that was open in a
restored one has been reckoned with, that work goes on.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import Value
from django.db.models.functions import Greatest

from delivery import restoring, switches
from delivery.errors import SwitchError
from ledgers import instance
from ledgers.clock import ClockTimestamp
from ledgers.models import Installation
from ledgers.trail import log


def confirm(seen: datetime | None, reason: str, actor: str) -> None:
    """This is the very database it always was: nothing was restored, and no copy of it runs.

    Args:
        seen: since when it was held, as the person saw it.
        reason: how they know.
        actor: who.

    Raises:
        SwitchError: no reason, or it is not held for not being known.
    """
    why = switches.reason_of(reason)
    with transaction.atomic():
        row = switches.held_as_seen(seen)
        if row.unsure_at is None:
            raise SwitchError("Nobody doubts where this database comes from.")
        Installation.objects.update(
            held_at=None,
            held_reason="",
            unsure_at=None,
            confirmed_at=ClockTimestamp(),
            instance=instance.present().written(),
        )
        log("confirm_database", actor, detail={"reason": why})
        switches.wake_all()


def declare_restored(reason: str, actor: str) -> None:
    """It was restored, although no worker could notice: everything is held, and rewound.

    Args:
        reason: what was done to it.
        actor: who says so.

    Raises:
        SwitchError: no reason, or a restore was noticed at this very moment.
    """
    why = switches.reason_of(reason)
    epoch = Installation.objects.values_list("epoch", flat=True).get()
    said = f"{actor} says so: {why}"
    if not restoring.hold_restored(said, epoch, instance.present(), actor):
        raise SwitchError("A restore was noticed at this very moment. Look at what it is held for.")


def lift(
    seen: datetime | None, reason: str, actor: str, *, doubt_until: datetime | None = None
) -> None:
    """Let work go on after a restore. What is still rewound stays unknown, and is not sent.

    Args:
        seen: since when it was held, as the person saw it.
        reason: why it may go on.
        actor: who lets it.
        doubt_until: runs that begin until then may be ones whose first recording is forgotten; what
            they record is rewound too. Never earlier than now.

    Raises:
        SwitchError: no reason, it is not the hold of a restore, or not all is rewound yet.
    """
    why = switches.reason_of(reason)
    with transaction.atomic():
        row = switches.held_as_seen(seen)
        if not row.restoring:
            raise SwitchError("It is not held because of a restore.")
        if row.rewound_to is not None:
            raise SwitchError(
                "Not all that was open is reckoned with yet: that takes a worker. Start one"
                " (manage.py deliver), and look again."
            )
        now = ClockTimestamp()
        until = Greatest(now, Value(doubt_until)) if doubt_until else now
        Installation.objects.update(held_at=None, held_reason="", doubt_until=until)
        row.refresh_from_db()
        log(
            "release_restored",
            actor,
            detail={"reason": why, "epoch": row.epoch, "doubt_until": str(row.doubt_until)},
        )
        switches.wake_all()
