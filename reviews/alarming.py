"""Whether alarms would reach a person: where they go, how that went, and whether anybody looks."""

from dataclasses import dataclass
from datetime import datetime

from delivery.models import Watch
from delivery.watch.ways import Seen, seen
from ledgers.clock import database_now

BLIND_S = 300.0


@dataclass(frozen=True, slots=True)
class Alarms:
    """`seen_at`: the last look of a watch that pushes. `blind`: it is too long ago."""

    ways: tuple[Seen, ...]
    seen_at: datetime | None
    blind: bool

    @property
    def silences(self) -> list[str]:
        """What is wrong with it, in words; nothing where no alarm was asked for."""
        if not self.ways:
            return []
        words = ["no watch looks"] if self.blind else []
        return [*words, *(f"alarms fail by {way.shown}" for way in self.ways if way.failing)]


def alarms() -> Alarms:
    """How it stands now."""
    looked = Watch.objects.values_list("seen_at", flat=True).first()
    blind = looked is None or (database_now() - looked).total_seconds() > BLIND_S
    return Alarms(tuple(seen()), looked, blind)
