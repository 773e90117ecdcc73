"""Does each channel bring through what it owes: overdue, stuck, held, refused, without success."""

from collections.abc import Iterator
from datetime import datetime

from delivery.silence import SILENT_S
from delivery.watch.checks.finding import Finding, State, age_s, by_age, counted
from delivery.watch.checks.working import deaf_since
from delivery.watch.figures import ChannelFigures, Figures
from ledgers.management.words import plain, seconds

# Of what is late after the grace: how many graces make it red.
RED_GRACES = 5
HELD_RED_S = 3_600


def nothing_overdue(figures: Figures) -> Iterator[Finding]:
    """Due for longer than the channel's grace is late, for five times as long red.

    Silent about it while no worker has beaten for as long as the grace: what is overdue then is
    overdue for that reason, and whether the worker is dead is decided half a minute later.
    """
    for one in figures.channels:
        age = age_s(figures.now, one.due_at) if one.overdue else 0.0
        state = by_age(age, one.grace_s, RED_GRACES * one.grace_s)
        if state is State.OK:
            text = f"Nothing on {plain(one.slug)} is overdue."
            yield Finding("overdue", one.slug, state, text)
        else:
            text, because = _overdue(figures.now, one), _nobody_works(figures, one.grace_s)
            yield Finding("overdue", one.slug, state, text, one.owed_since, because)


def _overdue(now: datetime, one: ChannelFigures) -> str:
    are, oldest = ("is", "") if one.overdue == 1 else ("are", " the oldest")
    return (
        f"{counted(one.overdue)} on channel {plain(one.slug)} {are} due and no worker takes"
        f" {'it' if one.overdue == 1 else 'them'};{oldest} owed for"
        f" {seconds(age_s(now, one.owed_since))}."
    )


def _nobody_works(figures: Figures, grace_s: float) -> str:
    """The check that explains why nothing moves anywhere; "" where somebody works."""
    idle_s = age_s(figures.now, figures.beat_at or figures.installed_at)
    if idle_s > min(grace_s, SILENT_S):
        return "worker"
    return "deaf" if age_s(figures.now, deaf_since(figures)) > SILENT_S else ""


def nothing_stuck(figures: Figures) -> Iterator[Finding]:
    """Taken by a worker whose lease is over, and by nobody since: it becomes due by itself, so that
    lasts only where nobody takes anything.
    """
    for one in figures.channels:
        name, age = plain(one.slug), age_s(figures.now, one.stuck.since)
        state = by_age(age, one.grace_s, RED_GRACES * one.grace_s)
        if not one.stuck.number or state is State.OK:
            yield Finding("stuck", one.slug, State.OK, f"Nothing on {name} is stuck.")
            continue
        are = "is" if one.stuck.number == 1 else "are"
        text = (
            f"{counted(one.stuck.number)} on channel {name} {are} held by a worker whose lease"
            f" has been over for {seconds(age)}."
        )
        because = _nobody_works(figures, one.grace_s)
        yield Finding("stuck", one.slug, state, text, one.stuck.since, because)


def credential_is_let_in(figures: Figures) -> Iterator[Finding]:
    """A provider that does not let a channel's credential in is red at once: nothing is sent."""
    for one in figures.channels:
        name = plain(one.slug)
        if one.refused:
            text = f"What is owed on channel {name} waits: {plain(one.refused)}."
            yield Finding("credential", one.slug, State.RED, text, one.refused_since)
        else:
            text = f"Nothing on {name} waits for its credential to be let in."
            yield Finding("credential", one.slug, State.OK, text)


def nothing_held_by_accident(figures: Figures) -> Iterator[Finding]:
    """Held although no person stopped it, such as for a secret that is missing or was replaced, a
    channel that is set up wrongly, or a recipient's function that cannot be imported.
    """
    for one in figures.channels:
        name, age = plain(one.slug), age_s(figures.now, one.held_since)
        state = by_age(age, one.grace_s, max(HELD_RED_S, one.grace_s)) if one.held else State.OK
        if state is State.OK:
            yield Finding("held", one.slug, state, f"Nothing on {name} is held by accident.")
            continue
        text = f"What is owed on channel {name} has waited for {seconds(age)}: {plain(one.held)}."
        because = "credential" if one.refused else ""
        yield Finding("held", one.slug, state, text, one.held_since, because)


def success_comes(figures: Figures) -> Iterator[Finding]:
    """Nothing delivered for longer than the channel's usual interval, although something is owed,
    or although the operator promised that something always is.
    """
    for one in figures.channels:
        owed, promised = _owed_in_vain(figures, one), _promised_in_vain(figures, one)
        worst = max(owed, promised, key=lambda finding: finding.state.badness)
        yield worst


def _owed_in_vain(figures: Figures, one: ChannelFigures) -> Finding:
    name = plain(one.slug)
    quiet_from = max(filter(None, (one.waiting_since, one.last_success)), default=None)
    quiet_s = age_s(figures.now, quiet_from) if one.waiting_since else 0.0
    state = by_age(quiet_s, one.period_s, 2 * one.period_s)
    if state is State.OK:
        return Finding("success", one.slug, state, f"{name} brings through what it owes.")
    said = (
        f"Nothing has been delivered on channel {name} for {seconds(quiet_s)}"
        if one.last_success
        else f"Channel {name} has never delivered anything, as far as its latest messages tell"
    )
    owed_s = age_s(figures.now, one.waiting_since)
    text = f"{said}, and something has been owed for {seconds(owed_s)}."
    return Finding("success", one.slug, state, text, quiet_from, explained(figures, one))


def explained(figures: Figures, one: ChannelFigures) -> str:
    """What already says why nothing goes through; it is not told twice."""
    if why := _nobody_works(figures, one.grace_s):
        return why
    late = age_s(figures.now, one.due_at) >= one.grace_s and one.overdue
    return "overdue" if late else "credential" if one.refused else "held" if one.held else ""


def _promised_in_vain(figures: Figures, one: ChannelFigures) -> Finding:
    name, every = plain(one.slug), one.expected_every_s
    last = one.last_success or one.created_at
    quiet_s = age_s(figures.now, last)
    state = by_age(quiet_s, every, every + max(one.period_s, one.grace_s)) if every else State.OK
    if state is State.OK:
        return Finding("success", one.slug, state, f"{name} brings through what it owes.")
    never = "" if one.last_success else " ever"
    text = (
        f"Nothing has{never} been delivered on channel {name} for {seconds(quiet_s)}, and something"
        f" is expected every {seconds(every)}."
    )
    return Finding("success", one.slug, state, text, last, explained(figures, one))
