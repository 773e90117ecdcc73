"""Is anybody working: workers, their clocks, their restarts, and the clock that starts shifts."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from delivery.silence import SILENT_S
from delivery.watch.checks.finding import Finding, State, age_s, counted
from delivery.watch.checks.rhythm import MANY_ENDS, rhythms, silent_ends
from delivery.watch.figures import Figures, WorkerFigures
from ledgers.management.words import plain, seconds

SKEWED_S, SKEWED_RED_S = 5.0, 60.0
# django-q2 looks at its schedules every 30 s, and a shift is due every minute.
SCHEDULE_LATE_S, SCHEDULE_RED_S = 90.0, 300.0
# What an agent recorded elsewhere may be met by a worker that is just being started.
MEET_S = 60.0


def worker_lives(figures: Figures) -> Iterator[Finding]:
    """No sign of life of any worker, or none ever since the installation."""
    last = figures.beat_at or figures.installed_at
    silence_s = (figures.now - last).total_seconds()
    if silence_s <= SILENT_S:
        young = "A worker is alive." if figures.beat_at else "No worker yet: all is new here."
        yield Finding("worker", "", State.OK, young)
        return
    said = (
        f"No worker has given a sign of life for {seconds(silence_s)}"
        if figures.beat_at
        else f"No worker has ever run here, {seconds(silence_s)} after the installation"
    )
    yield Finding("worker", "", State.RED, f"{said}; {_waiting(figures.owed)}.", last)


def _waiting(number: int) -> str:
    if not number:
        return "nothing is due"
    return f"{counted(number)} {'waits' if number == 1 else 'wait'}"


def workers_take(figures: Figures) -> Iterator[Finding]:
    """A worker that beats and takes nothing is worse than none: all looks well."""
    deaf = deaf_since(figures)
    if deaf is None or age_s(figures.now, deaf) <= SILENT_S:
        yield Finding("deaf", "", State.OK, "What is due is taken.")
        return
    alive = sum(_is_alive(one, figures.now) for one in figures.workers)
    beat = "A worker gives signs" if alive == 1 else f"{alive} workers give signs"
    number = sum(one.overdue for one in figures.channels)
    text = (
        f"{beat} of life, and none has taken anything for {seconds(age_s(figures.now, deaf))},"
        f" although {counted(number)} {'is' if number == 1 else 'are'} due."
    )
    yield Finding("deaf", "", State.RED, text, deaf)


def deaf_since(figures: Figures) -> datetime | None:
    """Since when workers live and take nothing of what is due; None where that is not so.

    Whoever holds a delivery under a lease is busy with it, and not deaf.
    """
    alive = [one for one in figures.workers if _is_alive(one, figures.now)]
    due = [one.due_at for one in figures.channels if one.overdue and one.due_at and not one.paced]
    if not alive or not due or figures.leased:
        return None
    took = [one.claimed_at for one in figures.workers if one.claimed_at]
    return max([min(due), min(one.started_at for one in alive), *took])


def _is_alive(one: WorkerFigures, now: datetime) -> bool:
    return one.stopped_at is None and age_s(now, one.beat_at) <= SILENT_S


def clocks_agree(figures: Figures) -> Iterator[Finding]:
    """A worker's clock away from the database's. Leases do not depend on it; reading times does."""
    alive = [one for one in figures.workers if _is_alive(one, figures.now)]
    off = [one for one in alive if abs(one.clock_offset_s) > SKEWED_S]
    if not off:
        yield Finding("clock", "", State.OK, "The workers' clocks agree with the database's.")
        return
    worst = max(off, key=lambda one: abs(one.clock_offset_s))
    ahead = "ahead of" if worst.clock_offset_s > 0 else "behind"
    more = f", and {len(off) - 1} more are off" if len(off) > 1 else ""
    text = (
        f"The clock of worker {plain(worst.name)} is {abs(worst.clock_offset_s):.1f} s {ahead}"
        f" the database's{more}."
    )
    red = abs(worst.clock_offset_s) >= SKEWED_RED_S
    yield Finding("clock", "", State.RED if red else State.LATE, text, worst.started_at)


def nobody_restarts_regularly(figures: Figures) -> Iterator[Finding]:
    """Workers that end at even intervals are ended by something outside, such as a probe; and those
    that end again and again without a word end by themselves.
    """
    found = rhythms(figures.workers, figures.now)
    if not found:
        yield _silent_ends(figures)
        return
    worst = max(found, key=lambda one: one.restarts)
    doubt = worst.in_doubt
    cost = f"; {counted(doubt)} left in doubt by it {'is' if doubt == 1 else 'are'} open" * bool(
        doubt
    )
    text = (
        f"Regular restarts on {plain(worst.host)}: {worst.restarts} times, every"
        f" {seconds(worst.interval_s)} ± {seconds(worst.deviation_s)}; cause: external{cost}."
    )
    yield Finding("restarts", "", State.RED if doubt else State.LATE, text, worst.since)


def _silent_ends(figures: Figures) -> Finding:
    ended = silent_ends(figures.workers, figures.now)
    if len(ended) < MANY_ENDS:
        return Finding("restarts", "", State.OK, "No worker is restarted again and again.")
    since, hosts = min(one.beat_at for one in ended), sorted({plain(one.host) for one in ended})
    text = (
        f"{len(ended)} workers on {', '.join(hosts)} ended without a word within the last hour,"
        " at no even intervals: they crash, or are killed."
    )
    return Finding("restarts", "", State.LATE, text, since)


def agents_and_workers_meet(figures: Figures) -> Iterator[Finding]:
    """An agent that records where no worker works is owed for ever, and all looks well."""
    there = figures.elsewhere
    silent = age_s(figures.now, figures.beat_at or figures.installed_at) > SILENT_S
    if there.recorders:
        other, ago_s = min(there.recorders, key=lambda one: one[1])
        text = (
            f"An agent of this host recorded in database {other} {seconds(ago_s)} ago, on which no"
            f" worker of this host works. This is database {there.here}."
        )
        since = figures.now - timedelta(seconds=ago_s)
        fresh = ago_s < MEET_S
        yield Finding("elsewhere", "", State.LATE if fresh else State.RED, text, since)
    elif silent and there.workers:
        text = (
            f"No worker works on this database, {there.here}, and one of this host works on"
            f" database {', '.join(there.workers)}."
        )
        yield Finding("elsewhere", "", State.RED, text, figures.beat_at or figures.installed_at)
    else:
        text = "Agents and workers of this host use the same database."
        yield Finding("elsewhere", "", State.OK, text)


def shifts_are_started(figures: Figures) -> Iterator[Finding]:
    """Where a q cluster hosts the workers: its clock has stopped, or nobody takes its tasks."""
    cluster = figures.cluster
    if cluster is None:
        return
    if cluster.next_run is None:
        text = "The schedule that starts shifts under the q cluster is gone."
        yield Finding("scheduler", "", State.RED, text, figures.now)
        return
    late_s, waiting = age_s(figures.now, cluster.next_run), cluster.waiting
    if waiting.number:
        text = (
            f"The q cluster takes nothing of what it is handed: {waiting.number} of its tasks"
            f" wait, the oldest for {seconds(age_s(figures.now, waiting.since))}."
        )
        yield Finding("scheduler", "", State.RED, text, waiting.since)
    elif late_s > SCHEDULE_LATE_S:
        state = State.RED if late_s > SCHEDULE_RED_S else State.LATE
        text = f"The q cluster should have started a shift {seconds(late_s)} ago, and did not."
        yield Finding("scheduler", "", state, text, cluster.next_run)
    else:
        yield Finding("scheduler", "", State.OK, "The q cluster starts its shifts.")
