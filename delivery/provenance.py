"""Whether a database is the one that this host knew. Pure: what the mark says against what it says.

Three proofs that it is not, or not any more: it remembers that it was another instance; it has not
reached what this host's mark says was committed; it is of an earlier epoch. Where there is nothing
to compare, nothing is concluded either: a person says which database it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from delivery.mark import Mark
from delivery.whereabouts import Whereabouts
from ledgers.instance import Instance


class Finding(StrEnum):
    """What comparing came to."""

    # Nothing was ever recorded in it: whatever it is, it begins here.
    NEW = "new"
    KNOWN = "known"
    # It is another instance, or older than it was.
    RESTORED = "restored"
    # Nothing proves anything. Workers that know it, or a person, can tell.
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Database:
    """What a database says of itself.

    `instance`: what it is; `remembered`: what it was when workers last knew it, None before any
    did. `counts`: those of the workers that the mark names. `empty`: no delivery was ever recorded.
    `elsewhere`: another instance of it, in which workers of this host have worked.
    `confirmed_at`: when a person last said which database this is.
    """

    epoch: int
    instance: Instance
    remembered: Instance | None
    counts: Mapping[str, int] = field(default_factory=dict)
    empty: bool = False
    elsewhere: Instance | None = None
    confirmed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A finding, and what differs, with both values."""

    finding: Finding
    why: str = ""


def judge(mark: Mark | None, here: Whereabouts, database: Database) -> Verdict:
    """Compare.

    Args:
        mark: what this host kept of this installation; None: nothing, or nothing readable.
        here: this host.
        database: what it says of itself now.
    """
    remembered, now = database.remembered, database.instance
    if remembered is not None and remembered != now:
        return Verdict(
            Finding.RESTORED, f"it is another instance: it was {remembered}, it is {now}"
        )
    if mark is None or mark.instance != now:
        return _unmarked(mark, database)
    if why := _older(mark, database):
        return _unmarked(mark, database) if mark.epoch < database.epoch else _put_back(why)
    if mark.unsure_at is not None:
        return _unconfirmed(mark.unsure_at, database)
    if why := here.moved_from(mark.where):
        return Verdict(Finding.UNSURE, f"this host's mark is not its own: {why}")
    return Verdict(Finding.KNOWN)


def _put_back(why: str) -> Verdict:
    return Verdict(Finding.RESTORED, f"it is older than it was: {why}")


def _older(mark: Mark, database: Database) -> str:
    """What the database has not reached, although it was committed once; or nothing."""
    if mark.epoch > database.epoch:
        return f"epoch {database.epoch}, and this host knew epoch {mark.epoch}"
    for name, count in mark.counts.items():
        reached = database.counts.get(name, 0)
        if reached < count:
            return f"the count of worker {name} is {reached}, and this host knew {count}"
    return ""


def _unconfirmed(since: datetime, database: Database) -> Verdict:
    """By a mark that was written while nobody could tell, and that a person has to confirm."""
    if database.confirmed_at is not None and database.confirmed_at > since:
        return Verdict(Finding.KNOWN)
    return Verdict(Finding.UNSURE, "nobody has said yet which database this is")


def _unmarked(mark: Mark | None, database: Database) -> Verdict:
    """Without a mark that can be compared: of this instance, and of now.

    One of an earlier epoch is of before a restore that was noticed, and may have known more.
    """
    if database.empty and database.elsewhere:
        # A backup of before the first work: agents that begin anew would have all of it sent again.
        return _put_back(f"nothing is recorded in it, and this host knew {database.elsewhere}")
    if database.empty:
        return Verdict(Finding.NEW)
    if mark is None:
        return Verdict(Finding.UNSURE, "this host has no mark of it, and it is not empty")
    return Verdict(
        Finding.UNSURE,
        f"this host's mark is of epoch {mark.epoch} of {mark.instance}, and it is epoch"
        f" {database.epoch} of {database.instance}",
    )
