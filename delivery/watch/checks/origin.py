"""Where the database comes from: a hold that no person made, and that only people end."""

from collections.abc import Iterator

from delivery.watch.checks.finding import Finding, State
from delivery.watch.figures import Figures
from ledgers.management.words import plain


def database_is_known(figures: Figures) -> Iterator[Finding]:
    """Red from the first moment on: nothing is sent on any channel, and no machine changes that."""
    held = figures.origin
    if not held.why:
        yield Finding("restored", "", State.OK, "No restore holds anything.")
        return
    yield Finding("restored", "", State.RED, f"Everything is held: {plain(held.why)}.", held.since)
