"""A worker knows its database, or sends nothing.

It looks when it starts, after every error, with every wave and with every beat. What it finds is
judged by `delivery.provenance`: a database that was put back is held, and all that was open in it
rewound; one that nobody can vouch for is held until a person says which it is.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction

from delivery import mark, restoring
from delivery.errors import DatabaseChangedError, MarkError
from delivery.heartbeat import BEAT_S, ensure_row
from delivery.journal import stop_sign
from delivery.mark import Mark
from delivery.provenance import Database, Finding, Verdict, judge
from delivery.submit import Identity
from delivery.timing import boottime
from delivery.whereabouts import here
from ledgers import instance
from ledgers.clock import database_now
from ledgers.instance import Instance
from ledgers.models import Delivery, Installation

logger = logging.getLogger(__name__)

# How long workers that know the database have to show themselves, before everything is held.
WAIT_S = 2 * BEAT_S + 2
LOOK_EVERY_S = 0.5  # while it is not known
UNKNOWN = "the database is looked at: it may have been restored"


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found: the installation's row, and the mark that this host may write about it.

    `there`: the counts that were in this host's mark.
    """

    row: Installation
    mark: Mark
    verdict: Verdict
    there: Mapping[str, int]


class Origin:
    """One worker's knowledge of its database. `known`: it may send."""

    def __init__(self, who: Identity, mode: str) -> None:
        self._who, self._mode = who, mode
        self.known = False
        self._rewinding = False
        self._since: datetime | None = None  # when it first looked, by the database's clock
        self._patience_ends = boottime() + WAIT_S
        self._next = 0.0
        self._said: set[str] = set()
        self._namespace = UUID(int=0)
        self._mark: Mark | None = None
        self._count = 0

    @property
    def busy(self) -> bool:
        """Whether a new worker may still find out by itself, or there is something to rewind."""
        return self._rewinding or (self._mark is None and boottime() < self._patience_ends)

    def learn(self) -> bool:
        """Look, count, or rewind, whatever is next; whether it is to be called again at once."""
        if boottime() >= self._next:
            if self.known:
                self._beat()
            else:
                self._look()
        return self.known and self._rewind()

    def doubt(self, why: str = UNKNOWN) -> None:
        """Look again before anything more is sent."""
        if self.known:
            self.known, self._next = False, 0.0
            # Who vouched before may have vouched for what it was before.
            self._since, self._patience_ends = None, boottime() + WAIT_S
            stop_sign.doubt(why)

    def count(self) -> None:
        """Raise this worker's count, in the caller's transaction.

        Raises:
            DatabaseChangedError: the database does not know the count that it had, or is in another
                epoch. Nothing of the transaction may stand.
        """
        with connection.cursor() as cursor:
            cursor.execute(_COUNT, [self._who.name, self._count])
            if cursor.rowcount == 1:
                return
        self.doubt()
        raise DatabaseChangedError("the database is not the one that this worker knew")

    def keep(self) -> None:
        """After the commit: the raised count stands outside the database. Never raises.

        Where it cannot be written nothing leaves until it can: the last check looks.
        """
        self._count += 1
        self._write({})

    def end(self) -> None:
        """What the disk has not got yet."""
        if self.known:
            self._write({}, durable=True)

    def _write(self, satisfied: dict[str, int], *, durable: bool = False) -> None:
        if self._mark is None:
            return
        mine = replace(self._mark, counts={self._who.name: self._count})
        try:
            mark.keep(self._namespace, mine, satisfied, durable=durable)
        except MarkError as error:
            logger.error("nothing is sent: %s", error)  # noqa: TRY400  the text says it all
            self.doubt(str(error))

    # --- While it is known

    def _beat(self) -> None:
        """See that everything this host knew is still there, and then raise the own count.

        That count stands for all of it from here on: a database that has reached it has the rest.
        """
        self._next = boottime() + BEAT_S
        there: Mark | None = None
        with suppress(MarkError):  # damaged: it is written anew
            there = mark.read(self._namespace, self._mark.instance) if self._mark else None
        known = dict(there.counts) if there else {}
        reached = _counts(known)
        lost = any(reached.get(name, 0) < count for name, count in known.items())
        if lost or self._mark is None or instance.present() != self._mark.instance:
            self.doubt()
            return
        with transaction.atomic():
            self.count()
        self._count += 1
        self._write(known, durable=True)
        self._rewinding = Installation.objects.filter(rewound_to__isnull=False).exists()

    def _rewind(self) -> bool:
        if self._rewinding:
            self._rewinding = restoring.rewind_some(self._who.name) is not None
        return self._rewinding

    # --- While it is not

    def _look(self) -> None:
        self._next = boottime() + LOOK_EVERY_S
        self._since = self._since or database_now()
        if missing := instance.unfinished():
            # Rows that are not there yet would not be rewound.
            self._tell(f"a restore is under way: {missing[0]} is not whole yet")
            return
        try:
            self._conclude(look(self._say))
        except MarkError as error:
            self._tell(str(error))

    def _conclude(self, looked: Looked) -> None:
        finding, why = looked.verdict.finding, looked.verdict.why
        if finding == Finding.RESTORED:
            self._hold(looked, why)
        elif finding in {Finding.NEW, Finding.KNOWN} or self._vouched():
            self._join(looked)
        elif boottime() >= self._patience_ends:
            self._ask(looked, why)

    def _hold(self, looked: Looked, why: str) -> None:
        """It was restored. Where somebody else was quicker, look at what they made of it."""
        self._tell(why)
        mine, epoch = looked.mark, looked.row.epoch
        if restoring.hold_restored(why, epoch, mine.instance, self._who.name):
            self._join(replace(looked, mark=replace(mine, epoch=epoch + 1)))

    def _vouched(self) -> bool:
        """Whether a worker that knows the database has shown itself since this one looked."""
        with connection.cursor() as cursor:
            cursor.execute(_VOUCHED, [self._who.name, self._since])
            vouched: bool = cursor.fetchone()[0]
        return vouched

    def _ask(self, looked: Looked, why: str) -> None:
        """Nobody vouches for it: a person says which it is. Shifts to come find what that was.

        Where the hold of a restore stands, and nobody is left who knows how far that has come, it
        begins anew: that sends nothing, and forgets only what people let go meanwhile.
        """
        if looked.row.restoring:
            self._hold(looked, f"again, since {why}")
            return
        self._tell(why)
        restoring.hold_unsure(why, self._who.name)
        at = Installation.objects.values_list("unsure_at", flat=True).get()
        if at is not None and looked.mark.unsure_at != at:
            row = ensure_row(self._who, self._mode)
            mine = replace(looked.mark, counts={self._who.name: row.mark}, unsure_at=at)
            mark.keep(looked.row.namespace, mine, looked.there, anew=True, durable=True)

    def _join(self, looked: Looked) -> None:
        """It is known: count, and write the mark.

        Raises:
            MarkError: no mark can be written, so it stays to be looked at.
        """
        ensure_row(self._who, self._mode)
        mine, self._namespace = looked.mark, looked.row.namespace
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_JOIN, [mine.epoch, self._who.name])
            joined = cursor.fetchone()
            if joined is None:  # another epoch has begun since: look again
                return
            self._count = joined[0]
            _remember(mine)
        self._mark = replace(mine, counts={self._who.name: self._count}, unsure_at=None)
        # All that was in it is reached, or of an epoch that is over: the own count stands for it.
        mark.keep(self._namespace, self._mark, looked.there, anew=True, durable=True)
        self.known, self._rewinding = True, True
        self._next = boottime() + BEAT_S
        self._said.clear()
        stop_sign.doubt("")

    def _tell(self, why: str) -> None:
        self._say(f"nothing is sent: {why.removesuffix('.')}. What to do: docs/restore.md")

    def _say(self, text: str) -> None:
        """Once each: it looks twice a second, for as long as it takes."""
        if text not in self._said:
            self._said.add(text)
            logger.error(text)


def look(say: Callable[[str], None] = logger.error) -> Looked:
    """What the database is, against what this host knew. Writes nothing.

    Args:
        say: told of a mark that cannot be read.

    Raises:
        MarkError: there is no place where a mark could be kept.
    """
    row, now = Installation.objects.get(), instance.present()
    try:
        where = here(mark.folder())
    except OSError as error:
        raise MarkError(
            f"No mark can be kept in {mark.folder()}: {error.strerror}. {mark.RIGHT}"
        ) from error
    known = _readable(row.namespace, now, say)
    database = Database(
        epoch=row.epoch,
        instance=now,
        remembered=Instance.read(row.instance),
        counts=_counts(known.counts if known else ()),
        empty=not Delivery.objects.exists(),
        elsewhere=mark.elsewhere(row.namespace, now),
        confirmed_at=row.confirmed_at,
    )
    mine = Mark(row.epoch, now, where, unsure_at=known.unsure_at if known else None)
    return Looked(row, mine, judge(known, where, database), known.counts if known else {})


def note_birth() -> None:
    """Keep that this host was there when the installation began. Best effort: workers look anew."""
    try:
        looked = look()
        mark.keep(looked.row.namespace, replace(looked.mark, unsure_at=None), anew=True)
    except MarkError as error:
        logger.warning("%s", error)


def _readable(namespace: UUID, now: Instance, say: Callable[[str], None]) -> Mark | None:
    try:
        return mark.read(namespace, now)
    except MarkError as error:
        say(f"{error} It counts as none.")
        return None


def _counts(names: Iterable[str]) -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, mark FROM delivery_worker WHERE name = ANY(%s)", [[*names]])
        return dict(cursor.fetchall())


def _remember(mine: Mark) -> None:
    """The database remembers which instance it is, unless it does already."""
    rows = Installation.objects.filter(epoch=mine.epoch, instance__isnull=True)
    rows.update(instance=mine.instance.written())


_COUNT = """
UPDATE delivery_worker SET mark = mark + 1, counted_at = clock_timestamp()
WHERE name = %s AND mark = %s AND epoch = (SELECT epoch FROM ledgers_installation)"""

# Only of the epoch that was looked at: where another one has begun, no row comes back.
_JOIN = """
UPDATE delivery_worker SET mark = mark + 1, counted_at = clock_timestamp(), epoch = i.epoch
FROM (SELECT epoch FROM ledgers_installation WHERE epoch = %s) AS i
WHERE name = %s RETURNING mark"""

_VOUCHED = """
SELECT EXISTS (
    SELECT FROM delivery_worker w, ledgers_installation i
    WHERE w.epoch = i.epoch AND w.name <> %s AND w.counted_at > %s)"""
