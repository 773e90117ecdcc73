"""Whether probes are seen at their destination, on each channel that asked for them."""

from collections.abc import Iterator

from delivery.watch.checks.finding import Finding, State, age_s, by_age
from delivery.watch.checks.moving import explained
from delivery.watch.figures import ChannelFigures, Figures, Probed
from ledgers.management.words import plain, seconds

UNSEEN_LATE_S, UNSEEN_RED_S = 300, 900


def probes_arrive(figures: Figures) -> Iterator[Finding]:
    """A probe that was not seen within five minutes is late, within a quarter of an hour red; that
    none is recorded any more is late.
    """
    for one in figures.channels:
        if one.probe is not None:
            yield _probed(figures, one, one.probe)


def _probed(figures: Figures, one: ChannelFigures, probe: Probed) -> Finding:
    name = plain(one.slug)
    unseen_s = age_s(figures.now, probe.unseen_since)
    state = by_age(unseen_s, UNSEEN_LATE_S, UNSEEN_RED_S)
    if state is not State.OK:
        said = f"; {plain(probe.said)}" if probe.said else ""
        text = f"No probe of channel {name} has been seen for {seconds(unseen_s)}{said}."
        because = explained(figures, one)
        return Finding("probe", one.slug, state, text, probe.unseen_since, because)
    last = probe.recorded_at
    silent_s = age_s(figures.now, last)
    if last is not None and silent_s > 2 * probe.every_s + UNSEEN_LATE_S:
        text = f"No probe of channel {name} has been recorded for {seconds(silent_s)}."
        return Finding("probe", one.slug, State.LATE, text, last)
    return Finding("probe", one.slug, State.OK, f"Probes of {name} are seen.")
