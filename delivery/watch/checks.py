"""What the watch looks for. Each check is one pure function over the figures.

To add one: a function that yields a finding per channel (or one with the channel "" for the whole
installation), and its line in `CHECKS` with what a person has to know about it.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from delivery.silence import GRACE_S, SILENT_S, UNKNOWN_LATE_S
from delivery.watch.figures import ChannelFigures, Figures
from ledgers.management.words import plain, seconds

UNKNOWN_RED_S = 3_600
OVERDUE_RED_S = 300
DATABASE = "database"  # the one check whose alarm the database cannot keep


class State(StrEnum):
    """How a check stands. Each is worse than the one before."""

    OK = "ok"
    LATE = "late"  # a person should look
    RED = "red"  # a person must look now

    @property
    def badness(self) -> int:
        return list(State).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found.

    `channel`: its slug; "" for the whole installation. `since`: when the trouble began. `newest`:
    when the newest of what it counts began, for checks that count what begins by itself.
    `because`: the check whose trouble explains this one. It is shown, and raises no alarm of its
    own: where no worker is alive, thirty channels that wait are one alarm.
    """

    check: str
    channel: str
    state: State
    sentence: str
    since: datetime | None = None
    because: str = ""
    newest: datetime | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    `headline`: as the subject of a mail has it, before the channel. `view`: the name of the page
    where a person finds it, with its arguments, the anchor on it, and whether it is narrowed to the
    channel.
    """

    name: str
    look: Callable[[Figures], Iterable[Finding]]
    headline: str
    means: str
    to_do: str
    view: str
    view_args: tuple[str, ...] = ()
    anchor: str = ""
    per_channel: bool = True


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
    return f"{_counted(number)} {'waits' if number == 1 else 'wait'}"


def nothing_unknown_for_long(figures: Figures) -> Iterator[Finding]:
    """Unknown for five minutes is late, for an hour red."""
    for one in figures.channels:
        age_s = _age_s(figures.now, one.unknown_since)
        state = _by_age(age_s, UNKNOWN_LATE_S, UNKNOWN_RED_S)
        name = plain(one.slug)
        if state is State.OK:
            yield Finding("unknown", one.slug, state, f"Nothing on {name} is unknown for long.")
            continue
        are = "is" if one.unknown == 1 else "are"
        oldest = "" if one.unknown == 1 else "the oldest "
        text = (
            f"{_counted(one.unknown)} on channel {name} {are} unknown,"
            f" {oldest}for {seconds(age_s)}."
        )
        yield Finding(
            "unknown", one.slug, state, text, one.unknown_since, newest=one.unknown_newest
        )


def nothing_overdue(figures: Figures) -> Iterator[Finding]:
    """Due for longer than the grace is late, for five minutes red.

    Silent about it while no worker has beaten for as long as the grace: what is overdue then is
    overdue for that reason, and whether the worker is dead is decided half a minute later.
    """
    last = figures.beat_at or figures.installed_at
    idle_s = (figures.now - last).total_seconds()
    because = "worker" if idle_s > GRACE_S else ""
    for one in figures.channels:
        state = _by_age(_age_s(figures.now, one.due_at), GRACE_S, OVERDUE_RED_S)
        if state is State.OK:
            text = f"Nothing on {plain(one.slug)} is overdue."
            yield Finding("overdue", one.slug, state, text)
        else:
            yield Finding(
                "overdue", one.slug, state, _overdue(figures.now, one), one.owed_since, because
            )


def _overdue(now: datetime, one: ChannelFigures) -> str:
    are, oldest = ("is", "") if one.overdue == 1 else ("are", " the oldest")
    return (
        f"{_counted(one.overdue)} on channel {plain(one.slug)} {are} due and no worker takes"
        f" {'it' if one.overdue == 1 else 'them'};{oldest} owed for"
        f" {seconds(_age_s(now, one.owed_since))}."
    )


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


def _counted(number: int) -> str:
    return f"{number} {'delivery' if number == 1 else 'deliveries'}"


def _age_s(now: datetime, since: datetime | None) -> float:
    return (now - since).total_seconds() if since else 0.0


def _by_age(age_s: float, late_s: float, red_s: float) -> State:
    return State.RED if age_s >= red_s else State.LATE if age_s >= late_s else State.OK


def database_answers(_: Figures) -> Iterator[Finding]:
    """There are figures, so it does."""
    yield Finding(DATABASE, "", State.OK, "The database answers.")


def database_fails(why: str, since: datetime) -> Finding:
    """What there is to say instead of figures."""
    text = f"The database does not answer as it should: {why}."
    return Finding(DATABASE, "", State.RED, text, since)


CHECKS: tuple[Check, ...] = (
    Check(
        DATABASE, database_answers, "the database does not answer",
        "Agents cannot record, nothing is delivered, and nobody can see what is owed or unknown."
        " What was committed is safe.",
        "Bring PostgreSQL back. Do not restore a backup while workers run. Workers go on by"
        " themselves.",
        "admin:overview", per_channel=False,
    ),
    Check(
        "worker", worker_lives, "no worker is alive",
        "Nothing is delivered, on any channel. Nothing is lost: it waits.",
        "Start a worker (manage.py deliver, or the service that runs it) and find out why it"
        " ended.",
        "admin:overview", anchor="workers", per_channel=False,
    ),
    Check(
        "unknown", nothing_unknown_for_long, "unknown deliveries",
        "They may have been accepted. They are not sent again before it is proven that they were"
        " not, or a person decides.",
        "Open the list, compare what the ledger knows with what the destination shows, and decide."
        " Do not send them again by other means.",
        "admin:triage",
    ),
    Check(
        "overdue", nothing_overdue, "overdue deliveries",
        "They are provably not sent yet, and wait although a worker is alive: it is too busy, is"
        " stuck, or lacks this channel's settings.",
        "See whether workers claim and settle; start more of them, or mend what they complain of.",
        "admin:concern", ("overdue",),
    ),
    Check(
        "credential", credential_is_let_in, "a credential that is refused",
        "Its provider does not let it in, or lacks a scope of it, or the secret is of another"
        " account. They are provably not sent, wait, and have cost no attempt.",
        "Run manage.py channel_check on the channel: it says what the provider wants. Then renew"
        " the secret, grant the scope, or agree on the credential's page to take the secret as it"
        " is.",
        "admin:concern", ("credential",),
    ),
)  # fmt: skip
BY_NAME = {check.name: check for check in CHECKS}


def findings(figures: Figures) -> list[Finding]:
    """What every check finds."""
    return [finding for check in CHECKS for finding in check.look(figures)]


def worst(found: Iterable[Finding]) -> State:
    """The worst state among findings."""
    return max((finding.state for finding in found), key=lambda state: state.badness)
