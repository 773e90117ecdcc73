"""The worker's loop: claim, hand out, collect, settle. Any number of them on any number of hosts.

The main thread owns the database connection; threads of a pool only make calls. The loop waits on
one selector: the wake-ups from the database and the pool's pipe. A slow destination holds up
nobody else, and an answer that cannot be written now is kept and written later, never sent again.
"""

import logging
import math
import selectors
from collections.abc import Callable

from django.conf import settings
from django.db import close_old_connections, connection

from delivery import checking, receipts
from delivery.breaker import ALL, HELD_BY, breaker
from delivery.claim import claim, give_back
from delivery.heartbeat import Heartbeat, new_identity
from delivery.hold import Hold
from delivery.journal import stop_sign
from delivery.listener import Listener
from delivery.origin import Origin
from delivery.pool import Pool
from delivery.rechecks import LONGEST_S
from delivery.reconcile import Search, settle_searches
from delivery.sealing import Sealing
from delivery.settle import settle
from delivery.submit import Call, refuse_inside_transaction
from delivery.timing import boottime
from delivery.troubles import Troubles
from delivery.uncalled import hand_back
from delivery.wave import open_wave
from delivery.ways import Ways
from ledgers import outbox
from ledgers.outage import is_outage

logger = logging.getLogger(__name__)

POLL_S = 0.5  # what a lost wake-up costs
DATABASE_PAUSE_S = 1.0  # between tries while the database is away
DRAIN_S = 30.0  # how long past the last deadline an ending worker tries to write what it knows
GRACE_S = 1.0  # a call that its deadline ends needs a moment to say so


class Worker:
    """One worker. `mode` is `resident` (manage.py deliver) or `shift` (under a q cluster)."""

    def __init__(self, mode: str = "resident", concurrency: int | None = None) -> None:
        self.who = new_identity()
        self.settled = 0
        self.claimed = 0
        self._per_channel = concurrency or settings.COUNTERFOIL_CONCURRENCY
        # Some places more than one channel may take: a dead one leaves them to the others.
        self._pool = Pool(self._per_channel + math.ceil(self._per_channel / 4))
        self._heartbeat = Heartbeat(self.who, mode)
        self._hold = Hold()
        self._origin = Origin(self.who, mode)
        self._calls: list[Call] = []
        self._searches: list[Search] = []
        self._verifications: list[checking.Verification] = []
        self._questions = checking.Questions()
        self._sealing = Sealing()
        # Claimed when the database went away, by fence: nothing of it was called.
        self._uncalled: dict[int, int] = {}
        self._ways = Ways()
        self._troubles = Troubles()
        self._unreachable = self._failed = False  # in this turn
        self._stopping = False

    def stop(self) -> None:
        """Finish what is on the wire, hand back the rest, end. Safe in a signal handler."""
        self._stopping = True
        stop_sign.set("the worker is ending")
        self._pool.interrupt()

    def run(self) -> None:
        """Work until `stop` is called.

        Raises:
            delivery.errors.OpenTransactionError: if the caller has a transaction open.
        """
        refuse_inside_transaction()
        listener = Listener()
        try:
            self._try(receipts.match_waiting)
            while not self._stopping:
                working = self._turn()
                if not (self._try(self._sealing.turn) or working):
                    self._wait(listener)
        finally:
            listener.close()
            self._drain()

    def run_shift(self, seconds: float) -> int:
        """Work what is due, at most for so long, and return how much was settled.

        Raises:
            delivery.errors.OpenTransactionError: if the caller has a transaction open.
        """
        self.work_off(seconds)
        self.end()
        return self.settled

    def work_off(self, seconds: float) -> None:
        """Work what is due, at most for so long, and stay ready for more.

        Raises:
            delivery.errors.OpenTransactionError: if the caller has a transaction open.
        """
        refuse_inside_transaction()
        end = boottime() + seconds
        self._try(receipts.match_waiting)
        while boottime() < end:
            if self._turn():
                continue
            if not (self._pool.busy or self._unsettled or self._origin.busy):
                break
            self._wait(None)

    def end(self) -> None:
        """Settle what is under way, and say good-bye."""
        self._drain()

    @property
    def _unsettled(self) -> int:
        working = len(self._calls) + len(self._searches) + len(self._verifications)
        return working + len(self._uncalled)

    @property
    def _awaited(self) -> bool:
        """Whether an ending worker still waits for a call to say what it came to."""
        now = boottime()
        return self._pool.busy > 0 or any(
            isinstance(job, Call) and now < job.journal.deadline + GRACE_S
            for job in self._pool.running
        )

    def _turn(self) -> bool:
        """Collect, claim and settle once; tell whether more may be due at once.

        After a settle that is a retry without a pause, or the next part of a message.
        """
        self._collect()
        ended = self._unsettled > 0
        self._unreachable = self._failed = False
        self._try(self._hold.learn)
        rewinding = self._try(self._origin.learn)
        # New calls first: they are under way while the answers are being written.
        more = self._try(self._claim)
        written = self._try(self._settle)
        if self._failed or not written:
            # What is in `_calls` is known but not written; it is written when the database is back.
            self._pause()
        elif self._origin.known:
            self._troubles.database_works()
        more = more or rewinding or self._ways.rechecks.waking
        return written and (more or (ended and not self._unsettled))

    def _try(self, act: Callable[[], bool]) -> bool:
        """One bad row or a database that is away must not end the worker; leases heal the rest.

        Where there was no connection to be had, nothing else is tried in this turn: a network that
        swallows everything takes ten seconds to say no.
        """
        if self._unreachable:
            return False
        connected = connection.connection is not None
        try:
            return act()
        except Exception as error:  # noqa: BLE001  said by _troubles; the worker goes on
            self._unreachable = not connected and connection.connection is None
            if is_outage(error):
                self._failed = True
                self._troubles.database_fails(error, self._unsettled)
            else:
                self._troubles.error(error)
            close_old_connections()  # one that broke is not used again
            self._origin.doubt()  # the next one may lead to another database
            return False

    def _collect(self) -> None:
        for job in self._pool.collect():
            if isinstance(job, Call):
                self._calls.append(job)
            elif isinstance(job, Search):
                self._searches.append(job)
            elif isinstance(job, checking.Verification):
                self._verifications.append(job)

    def _settle(self) -> bool:
        hand_back(self._uncalled, self.who.name)
        self._uncalled.clear()
        if self._calls:
            kept = settle(self._calls, self.who.name, self._ways)
            self.settled += len(self._calls) - len(kept)
            self._calls = kept
        if self._searches:
            settle_searches(self._searches, self.who.name, self._ways)
            self._searches = []
        if self._verifications:
            checking.keep_all(self._verifications, self.who.name)
            self._ways.forget(one.channel_id for one in self._verifications)
            self._verifications = []
        self._wake_held()
        self._renew()
        self._heartbeat.beat(self.claimed, self.settled)
        return True

    def _wake_held(self) -> None:
        """Let go what a hold kept that is over. A lost wake-up only delays: all take turns."""
        for channel_id, count in breaker.take_freed().items():
            if count >= ALL:
                self._ways.rechecks.lifted(channel_id, HELD_BY)
            else:
                outbox.wake_held(channel_id, HELD_BY, count, within_s=LONGEST_S)
        if self._hold.lifted:
            self._ways.all_lifted()
            self._hold.lifted = False
        self._ways.rechecks.wake()

    def _renew(self) -> None:
        """Keep the leases of calls that run on past their deadline: bytes may still leave."""
        overdue = [j for j in self._pool.running if isinstance(j, Call) and j.overdue]
        outbox.renew({call.delivery_pk: call.fence for call in overdue})

    def _claim(self) -> bool:
        free = self._pool.size - self._pool.busy
        if free <= 0 or self._stopping or not self._origin.known:
            return False
        mark = boottime()
        claimed = claim(free, self._pool.busy_by_channel, self._per_channel)
        if not claimed:
            return False
        self.claimed += len(claimed)
        try:
            jobs = open_wave(claimed, mark, self.who, self._ways, self._origin)
        except Exception:
            self._uncalled |= {item.delivery_id: item.fence for item in claimed}
            raise
        # What is on record is called before anything else can fail.
        for job in jobs:
            self._pool.start(job)
        for question in self._questions.due(self._ways.ways.values()):
            self._pool.start(question)
        metered = {c for c, way in self._ways.ways.items() if way.channel.rate_per_s}
        give_back(claimed, [job.channel_id for job in jobs if isinstance(job, Call)], metered)
        return True

    def _wait(self, listener: Listener | None) -> None:
        """Until a call ends, a wake-up comes, or it is time to poll."""
        if listener and self._troubles.outage:
            # Where connections are short, the one that claims needs it more.
            listener.close()
            listener = None
        with selectors.DefaultSelector() as selector:
            selector.register(self._pool, selectors.EVENT_READ)
            descriptor = listener.fileno() if listener else None
            if descriptor is not None:
                selector.register(descriptor, selectors.EVENT_READ)
            selector.select(POLL_S)
        if listener:
            listener.drain()

    def _pause(self) -> None:
        connection.close()
        close_old_connections()
        with selectors.DefaultSelector() as selector:
            selector.select(DATABASE_PAUSE_S)

    def _drain(self) -> None:
        """Wait for calls that are on the wire and write down what they came to.

        Each has its whole deadline; what runs on past that is left, in doubt.
        """
        deadlines = [j.journal.deadline for j in self._pool.running if isinstance(j, Call)]
        end = max([boottime(), *deadlines]) + DRAIN_S
        # What has ended is an answer, although its deadline may have passed since: a machine slept.
        self._collect()
        while (self._awaited or self._unsettled) and boottime() < end:
            self._collect()
            if not self._try(self._settle):
                self._pause()
            elif self._awaited or self._unsettled:
                self._wait(None)
        self._say_what_is_lost()
        self._pool.close()

    def _say_what_is_lost(self) -> None:
        for job in self._pool.running:
            if isinstance(job, Call):
                logger.error(
                    "the call of attempt %s of delivery %s has not returned: it becomes unknown",
                    job.attempt_id,
                    job.delivery_pk,
                )
        for call in self._calls:
            logger.error(
                "attempt %s of delivery %s ended as %s (provider's id %r), and that could not be"
                " written: the delivery becomes unknown",
                call.attempt_id,
                call.delivery_pk,
                call.outcome.outcome,
                getattr(call.outcome, "provider_message_id", ""),
            )
        self._try(self._say_good_bye)

    def _say_good_bye(self) -> bool:
        self._heartbeat.stop(self.claimed, self.settled)
        self._origin.end()
        return True
