"""After a restore: hold everything, and reckon with every send that may be forgotten.

One transaction holds; from then on nothing is sent. Then everything that was open is rewound, in
batches, by whichever worker gets to it: `Installation.rewound_to` says how far that is, so a kill
in between only delays it. What is recorded under the hold is rewound as it is recorded.
"""

from collections.abc import Iterable, Sequence

from django.db import connection, transaction
from django.db.models import F

from ledgers import moves
from ledgers.clock import ClockTimestamp, database_now
from ledgers.instance import Instance
from ledgers.models import Installation, Run
from ledgers.moves import Change
from ledgers.states import OPEN
from ledgers.trail import log

RULE = "rewound"
CAUSE = f"{RULE}: the database was restored, and may have forgotten that this was sent"
UNSURE = "nobody can tell whether this database was restored"
RESTORED = "the database was restored"
BATCH = 2_000  # deliveries rewound in one transaction
MAX_REASON = 300  # characters
# Recorders share this advisory lock; who rewinds takes it alone, once, so that whoever recorded
# without knowing of the hold has committed by then.
RECORDING = 0x0C0F_0E11
PATIENCE_MS = 2_000  # for the lock: recorders wait behind whoever waits for it


def hold_restored(why: str, seen_epoch: int, instance: Instance, actor: str) -> bool:
    """Hold everything because the database was restored; begin a new epoch.

    The restore point is the last moment at which a worker that knew this database is on record:
    whatever was committed later than that may be forgotten, and nothing was sent before it was
    committed. Other moments in it may be of after the restore. Where the hold of an earlier restore
    still stands, its restore point stands too.

    Args:
        why: what differs, in words.
        seen_epoch: the epoch in which that was found.
        instance: what the database is now.
        actor: who found it.

    Returns:
        False if somebody else has begun a new epoch meanwhile: it is to be looked at again.
    """
    with transaction.atomic():
        row = Installation.objects.select_for_update().get()
        if row.epoch != seen_epoch:
            return False
        Installation.objects.update(
            epoch=F("epoch") + 1,
            instance=instance.written(),
            held_at=ClockTimestamp(),
            held_reason=_reason(RESTORED, why, row),
            unsure_at=None,
            confirmed_at=ClockTimestamp(),
            restored_at=ClockTimestamp(),
            rewound_to=0,
            doubt_until=None,
        )
        with connection.cursor() as cursor:
            cursor.execute(_RESTORE_POINT, [row.restoring])
        row.refresh_from_db()
        log(
            "restore_found",
            actor,
            detail={"why": why, "epoch": row.epoch, "restore_point": str(row.restore_point)},
        )
    return True


def _reason(what: str, why: str, row: Installation) -> str:
    before = f"; held before: {row.held_reason}" if row.held_at else ""
    return f"{what}: {why}{before}"[:MAX_REASON]


# Counted is only what knows the database; beats and records may be of after the restore.
_RESTORE_POINT = """
UPDATE ledgers_installation i SET restore_point = LEAST(i.restored_at,
    CASE WHEN %s THEN i.restore_point END,
    COALESCE((SELECT max(w.counted_at) FROM delivery_worker w), i.created_at))"""


def hold_unsure(why: str, actor: str) -> bool:
    """Hold everything until a person says which database this is. Nothing is rewound yet.

    Returns:
        False if it is held for this, or for a restore, already.
    """
    with transaction.atomic():
        row = Installation.objects.select_for_update().get()
        if row.unsure_at or row.restoring:
            return False
        Installation.objects.update(
            held_at=ClockTimestamp(),
            held_reason=_reason(UNSURE, why, row),
            unsure_at=ClockTimestamp(),
        )
        log("origin_unknown", actor, detail={"why": why})
    return True


def rewind_some(actor: str) -> int | None:
    """Rewind one more batch of what was open when the database was restored.

    Returns:
        how many rows it looked at; None where nothing is left to do, or somebody else does it.
    """
    with transaction.atomic():
        row = (
            Installation.objects.select_for_update(skip_locked=True)
            .filter(rewound_to__isnull=False)
            .first()
        )
        if row is None or row.rewound_to is None:
            return None
        if row.rewound_to == 0:
            _wait_for_recorders()
        rows = _open_after(row.rewound_to)
        rewind(rows, actor)
        Installation.objects.update(rewound_to=rows[-1] if rows else None)
        if not rows:
            log("rewound", actor, detail={"epoch": row.epoch})
    return len(rows)


def _wait_for_recorders() -> None:
    """Until whoever recorded without knowing of the hold has ended.

    Raises:
        OperationalError: it takes too long; others must not wait for it meanwhile.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{PATIENCE_MS}ms"])
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [RECORDING])


def _open_after(row_id: int) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(_OPEN_AFTER, [[str(one) for one in OPEN], row_id, BATCH])
        return [found for (found,) in cursor.fetchall()]


_OPEN_AFTER = """
SELECT id FROM ledgers_delivery WHERE status = ANY(%s) AND id > %s ORDER BY id LIMIT %s"""


def rewind(ids: Sequence[int], actor: str) -> None:
    """Reckon with a forgotten send of each of these, within the caller's transaction.

    Whoever moves one of these at this moment is waited for; what it says then is what counts.

    All are due at once, so that workers search where they can and ask a person where they cannot.
    """
    held, now = moves.hold(ids), database_now()
    moves.rewind(
        [
            Change(one.id, one.status, one.version, None, RULE, CAUSE, actor, due_at=now)
            for one in held.values()
            if one.status in OPEN
        ]
    )


# --- What people begin again


def ended_before(ids: Iterable[int]) -> set[int]:
    """Of these, what ended before the last restore: in the time that is lost it may have been tried
    again, and have been sent.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT d.id FROM ledgers_delivery d, ledgers_installation i"
            " WHERE d.id = ANY(%s) AND d.finished_at < i.restored_at",
            [sorted(ids)],
        )
        return {found for (found,) in cursor.fetchall()}


# --- Recording


def share_recording() -> None:
    """Whoever records says so before it looks whether a restore is in force."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [RECORDING])


def in_doubt(installation: Installation, run: Run) -> bool:
    """Whether what this run records now may have been recorded before, and sent, and forgotten.

    True of everything as long as a restore's hold is not lifted, and after that of the runs that
    began before.
    """
    if installation.restored_at is None:
        return False
    return installation.doubt_until is None or run.started_at <= installation.doubt_until


def rewind_recorded(message_pk: int) -> None:
    """Reckon with a forgotten send of each delivery of a message that was just recorded."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM ledgers_delivery WHERE message_id = %s ORDER BY id", [message_pk]
        )
        ids = [row_id for (row_id,) in cursor.fetchall()]
    for start in range(0, len(ids), BATCH):
        rewind(ids[start : start + BATCH], "agent")
