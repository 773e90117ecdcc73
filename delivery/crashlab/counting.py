"""Counting at the other side: what the recipient of a drill saw of one delivery."""

from dataclasses import dataclass
from typing import Protocol

from delivery.decide import decide
from delivery.history import read
from delivery.reconcile import search_for
from delivery.simulator.client import Simulator
from delivery.ways import Ways
from ledgers.models import Delivery

MOST = 1_000  # submissions of one destination that are looked at


@dataclass(frozen=True, slots=True)
class Seen:
    """How often it was acted on, and how often submitted as far as that can be seen.

    `certain`: whether the recipient could tell at all.
    """

    effects: int
    submissions: int = 0
    certain: bool = True

    def __str__(self) -> str:
        return f"{self.effects} effects, {self.submissions} submissions"


class Recipient(Protocol):
    """Knows what arrived."""

    def seen(self, row: Delivery) -> Seen: ...


@dataclass(frozen=True, slots=True)
class Simulated:
    """A simulated recipient, which keeps every submission."""

    simulator: Simulator

    def seen(self, row: Delivery) -> Seen:
        arrived = self.simulator.last_submissions(row.destination, MOST)
        mine = [one for one in arrived if one["key"] == row.idempotency_key]
        return Seen(sum(bool(one["effect"]) for one in mine), len(mine))


class Asked:
    """A real recipient, asked as reconciliation asks it. Nothing of it is kept as evidence."""

    _EFFECTS = {"found": 1, "found_many": 2, "absent": 0}

    def seen(self, row: Delivery) -> Seen:
        ways = Ways()
        (case,) = read([row.pk], ways)
        search = search_for(decide(case), ways)
        search.run()
        counts = [
            self._EFFECTS[finding.verdict]
            for finding in search.findings
            if finding.verdict in self._EFFECTS
        ]
        return Seen(max(counts, default=0), certain=bool(counts))
