"""What waits for a person, and what ended in a way that somebody should know of."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from delivery.silence import UNKNOWN_LATE_S
from delivery.watch.checks.finding import Finding, State, age_s, by_age, counted
from delivery.watch.figures import Figures, Some
from ledgers.management.words import plain, seconds

UNKNOWN_RED_S = 3_600
CLOSING_RED_S = 900
# At most half may be without a report; of fewer than this many nothing can be said.
FEWEST_REPORTS = 4


def nothing_unknown_for_long(figures: Figures) -> Iterator[Finding]:
    """Unknown for five minutes is late, for an hour red."""
    for one in figures.channels:
        age = age_s(figures.now, one.unknown_since)
        state = by_age(age, UNKNOWN_LATE_S, UNKNOWN_RED_S)
        name = plain(one.slug)
        if state is State.OK:
            yield Finding("unknown", one.slug, state, f"Nothing on {name} is unknown for long.")
            continue
        are = "is" if one.unknown == 1 else "are"
        oldest = "" if one.unknown == 1 else "the oldest "
        text = (
            f"{counted(one.unknown)} on channel {name} {are} unknown, {oldest}for {seconds(age)}."
        )
        yield Finding(
            "unknown", one.slug, state, text, one.unknown_since, newest=one.unknown_newest
        )


def no_window_closes(figures: Figures) -> Iterator[Finding]:
    """Unknown, and its key stops protecting within the hour; red within a quarter of it."""
    for one in figures.channels:
        name, some = plain(one.slug), one.closing
        if not some.number or some.since is None:
            yield Finding("closing", one.slug, State.OK, f"No window on {name} closes soon.")
            continue
        left_s = (some.since - figures.now).total_seconds()
        state = State.RED if left_s <= CLOSING_RED_S else State.LATE
        key = "its key" if some.number == 1 else "the first one's key"
        text = (
            f"{counted(some.number)} on channel {name} {_are(some)} unknown, and {key} stops"
            f" protecting in {seconds(left_s)}."
        )
        since = some.since - timedelta(hours=1)
        yield Finding("closing", one.slug, state, text, since)


def nothing_failed_unseen(figures: Figures) -> Iterator[Finding]:
    """Provably not sent, in the last day, and nobody has decided what now."""
    for one in figures.channels:
        words = f"{{}} on channel {plain(one.slug)} failed in the last day, and nobody has decided"
        yield _ended("failed", one.slug, one.failed, words, figures.now)


def nothing_expired_unseen(figures: Figures) -> Iterator[Finding]:
    """Its last moment passed, in the last day, and nobody has said what now."""
    for one in figures.channels:
        words = f"{{}} on channel {plain(one.slug)} expired in the last day, and nobody has decided"
        yield _ended("expired", one.slug, one.expired, words, figures.now)


def nothing_disputed(figures: Figures) -> Iterator[Finding]:
    """It counted as not sent, and arrived: somebody may have acted on the first."""
    for one in figures.channels:
        words = f"{{}} on channel {plain(one.slug)} arrived although {{they}} counted as not sent"
        yield _ended("disputed", one.slug, one.disputed, words, figures.now)


def _ended(check: str, slug: str, some: Some, words: str, now: datetime) -> Finding:
    if not some.number:
        return Finding(check, slug, State.OK, f"Nothing on {plain(slug)} is {check} of late.")
    they = "it" if some.number == 1 else "they"
    said = words.replace("{they}", they).replace("{}", counted(some.number))
    text = f"{said}; the latest {seconds(age_s(now, some.newest))} ago."
    return Finding(check, slug, State.LATE, text, some.since, newest=some.newest)


def providers_report(figures: Figures) -> Iterator[Finding]:
    """Its provider reports deliveries, and has said nothing about most that it accepted lately."""
    for one in figures.channels:
        name, seen = plain(one.slug), one.reports
        silent = seen.accepted >= FEWEST_REPORTS and 2 * seen.unreported > seen.accepted
        if not silent:
            yield Finding("reports", one.slug, State.OK, f"Reports for {name} come.")
            continue
        text = (
            f"Of the last {seen.accepted} deliveries on channel {name} that were accepted more than"
            f" 15 min ago, the provider has reported nothing about {seen.unreported}."
        )
        yield Finding("reports", one.slug, State.LATE, text, seen.since)


def nothing_lost_after_acceptance(figures: Figures) -> Iterator[Finding]:
    """Accepted three days ago, and its provider has reported nothing: it is theirs to explain."""
    for one in figures.channels:
        name, lost = plain(one.slug), one.reports.lost
        if not lost.number:
            yield Finding("unreported", one.slug, State.OK, f"Nothing on {name} went silent.")
            continue
        text = (
            f"{counted(lost.number)} on channel {name} {_are(lost)} accepted, and the provider has"
            " reported nothing for 72 h."
        )
        yield Finding("unreported", one.slug, State.LATE, text, lost.since, newest=lost.newest)


def _are(some: Some) -> str:
    return "is" if some.number == 1 else "are"
