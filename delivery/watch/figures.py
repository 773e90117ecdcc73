"""What one look at the ledgers reads, as data; `delivery.watch.reading` reads it."""

from dataclasses import dataclass
from datetime import datetime

from delivery.silence import GRACE_S, PERIOD_S


@dataclass(frozen=True, slots=True)
class Some:
    """How many of something there are, and since when the oldest and the newest of them are."""

    number: int = 0
    since: datetime | None = None
    newest: datetime | None = None


NONE = Some()


@dataclass(frozen=True, slots=True)
class Reports:
    """Whether a provider that reports deliveries does so.

    `accepted`: of the last 20 that it accepted more than a quarter of an hour ago; `unreported`: of
    those, how many it has reported nothing about. `lost`: accepted three days ago, and nothing.
    """

    accepted: int = 0
    unreported: int = 0
    since: datetime | None = None
    lost: Some = NONE


@dataclass(frozen=True, slots=True)
class Probed:
    """The probes of a channel. `unseen_since`: when the oldest was recorded since one was seen.

    `said`: what became of the last one, in words.
    """

    every_s: float
    recorded_at: datetime | None = None
    unseen_since: datetime | None = None
    seen_at: datetime | None = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class ChannelFigures:
    """One channel that is not for testing: practice wakes nobody.

    `grace_s`, `period_s`, `expected_every_s`: as the operator set them, in seconds.
    `paced`: it may send so seldom that nothing is taken for a while on purpose.
    `unknown`: deliveries that are unknown and that nobody has decided to leave so;
    `unknown_newest`: since when the newest of those is that need a person. `closing`: of the
    unknown, those whose key stops protecting within the hour; since is when the first one does.
    `overdue`: deliveries that are due for longer than the grace, held by no person and taken by no
    worker; `owed_since`: since when the oldest of them is owed, which backing off does not move.
    `stuck`: taken by a worker whose lease has been over for longer than the grace.
    `refused`: why its provider does not let its credential in, while something waits for that.
    `held`: why what is owed waits although no person stopped it.
    `waiting_since`: since when the oldest is owed that a machine may send.
    `last_success`: among its latest deliveries, probes left out. `created_at`: of the channel.
    `failed`, `expired`, `disputed`: of the last day, and nobody has decided about them.
    """

    slug: str
    unknown: int = 0
    unknown_since: datetime | None = None
    unknown_newest: datetime | None = None
    overdue: int = 0
    due_at: datetime | None = None
    owed_since: datetime | None = None
    refused: str = ""
    refused_since: datetime | None = None
    grace_s: float = GRACE_S
    period_s: float = PERIOD_S
    expected_every_s: float = 0.0
    paced: bool = False
    created_at: datetime | None = None
    closing: Some = NONE
    stuck: Some = NONE
    held: str = ""
    held_since: datetime | None = None
    waiting_since: datetime | None = None
    last_success: datetime | None = None
    failed: Some = NONE
    expired: Some = NONE
    disputed: Some = NONE
    reports: Reports = Reports()
    probe: Probed | None = None


@dataclass(frozen=True, slots=True)
class WorkerFigures:
    """One process start of a worker, within the last day.

    `claimed_at`: when it last took something. `in_doubt`: attempts that it opened and that have no
    answer; of one that is gone they are what its end cost.
    """

    name: str
    host: str
    mode: str
    started_at: datetime
    beat_at: datetime
    stopped_at: datetime | None = None
    claimed_at: datetime | None = None
    clock_offset_s: float = 0.0
    in_doubt: int = 0


@dataclass(frozen=True, slots=True)
class Cluster:
    """A q cluster, where one is used.

    `next_run`: when its schedule starts the next shift; None where the schedule is gone.
    `waiting`: tasks that it was handed and has not taken for a minute.
    """

    next_run: datetime | None
    waiting: Some = NONE


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What is noted on this host, outside any database; each database by a fingerprint.

    `here`: the one that is looked at. `workers`: others, on which a worker of this host works now.
    `recorders`: others, in which an agent of this host recorded so many seconds ago and on which no
    worker of this host works.
    """

    here: str = ""
    workers: tuple[str, ...] = ()
    recorders: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """Why, and since when, everything is held because of where the database comes from."""

    why: str = ""
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """How things stood at `now`.

    `beat_at`: the last sign of life of any worker, also of one that has ended since: under a q
    cluster a worker lives for a shift. `installed_at`: what counts where there never was one.
    `leased`: deliveries that a worker holds under a lease that is not over.
    `announced`: completed steps that owe a message which nobody has recorded; `announced_ended`: of
    those, the ones whose run has ended. `unqueued`: open deliveries that need a machine and are not
    in its queue; `queued`: in the queue, and ended. `crash_loops`: runs that nobody has resolved.
    """

    now: datetime
    installed_at: datetime
    beat_at: datetime | None
    owed: int
    channels: tuple[ChannelFigures, ...] = ()
    workers: tuple[WorkerFigures, ...] = ()
    leased: int = 0
    cluster: Cluster | None = None
    announced: Some = NONE
    announced_ended: int = 0
    unqueued: Some = NONE
    queued: Some = NONE
    crash_loops: Some = NONE
    elsewhere: Elsewhere = Elsewhere()
    origin: Origin = Origin()
