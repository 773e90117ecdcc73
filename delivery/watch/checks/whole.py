"""The database, and what the two ledgers and the queue owe each other."""

from collections.abc import Iterator
from datetime import datetime

from delivery.watch.checks.finding import Finding, State, age_s, by_age, counted
from delivery.watch.figures import Figures, Some
from ledgers.management.words import seconds

DATABASE = "database"  # the one check whose alarm the database cannot keep
ANNOUNCED_LATE_S, ANNOUNCED_RED_S = 60, 300


def database_answers(_: Figures) -> Iterator[Finding]:
    """There are figures, so it does."""
    yield Finding(DATABASE, "", State.OK, "The database answers.")


def database_fails(why: str, since: datetime) -> Finding:
    """What there is to say instead of figures."""
    text = f"The database does not answer as it should: {why}."
    return Finding(DATABASE, "", State.RED, text, since)


def nothing_announced_is_owed(figures: Figures) -> Iterator[Finding]:
    """A completed step without a message that it announced: late after a minute; red once its run
    has ended, or after five minutes.
    """
    owed, ended = figures.announced, figures.announced_ended
    age = age_s(figures.now, owed.since)
    state = by_age(age, ANNOUNCED_LATE_S, ANNOUNCED_RED_S) if owed.number else State.OK
    if ended:
        state = State.RED
    if state is State.OK:
        yield Finding("announced", "", state, "No announced message is missing.")
        return
    steps = "1 completed step" if owed.number == 1 else f"{owed.number} completed steps"
    runs = f"; of {ended} the run has ended" if ended else ""
    text = (
        f"{steps} announced a message that nobody has recorded, the oldest"
        f" {seconds(age)} ago{runs}."
    )
    yield Finding("announced", "", state, text, owed.since, newest=owed.newest)


def queue_and_ledger_agree(figures: Figures) -> Iterator[Finding]:
    """An open delivery that no machine will look at, or queued work for one that has ended."""
    words = list(filter(None, (_unqueued(figures.unqueued), _queued(figures.queued))))
    if not words:
        yield Finding("orphans", "", State.OK, "Queue and ledger agree.")
        return
    since = min(filter(None, (figures.unqueued.since, figures.queued.since)), default=None)
    yield Finding("orphans", "", State.RED, f"{'; '.join(words)}.", since)


def _unqueued(some: Some) -> str:
    if not some.number:
        return ""
    need = "needs" if some.number == 1 else "need"
    return f"{counted(some.number)} {need} a machine and {_are(some)} not in its queue"


def _queued(some: Some) -> str:
    if not some.number:
        return ""
    they = "it" if some.number == 1 else "they"
    return f"{counted(some.number)} {_are(some)} queued although {they} ended"


def _are(some: Some) -> str:
    return "is" if some.number == 1 else "are"


def no_run_is_in_a_crash_loop(figures: Figures) -> Iterator[Finding]:
    """A run that its step kills each time waits for a person from the first moment on."""
    loops = figures.crash_loops
    if not loops.number:
        yield Finding("crash_loop", "", State.OK, "No run is stopped by its own step.")
        return
    runs = "1 run is" if loops.number == 1 else f"{loops.number} runs are"
    text = (
        f"{runs} stopped: a step killed its process twice, the last time"
        f" {seconds(age_s(figures.now, loops.newest))} ago."
    )
    yield Finding("crash_loop", "", State.LATE, text, loops.since, newest=loops.newest)
