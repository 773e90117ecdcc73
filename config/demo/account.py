"""What the demo came to, counted on both sides: in the ledger, and at the recipient."""

from dataclasses import dataclass
from typing import Any

from delivery.simulator.client import Simulator
from ledgers.models import Delivery
from ledgers.states import DeliveryStatus

EVERY = 1_000_000
ANSWERED = "answered"


@dataclass(frozen=True, slots=True)
class Line:
    """One destination. `effects`: how often the recipient acted, by its own count."""

    delivery: Delivery
    effects: int
    how: str

    @property
    def delivered(self) -> bool:
        return self.delivery.status == DeliveryStatus.DELIVERED

    @property
    def unknown(self) -> bool:
        return self.delivery.status == DeliveryStatus.UNKNOWN


@dataclass(frozen=True, slots=True)
class Account:
    """All destinations of one run."""

    lines: tuple[Line, ...]

    @property
    def sent(self) -> int:
        return sum(line.delivered for line in self.lines)

    @property
    def effects(self) -> int:
        """At the destinations that count as delivered; the unknown ones are told apart."""
        return sum(line.effects for line in self.lines if line.delivered)

    @property
    def duplicates(self) -> int:
        return sum(max(0, line.effects - 1) for line in self.lines)

    @property
    def unknown(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.unknown)

    @property
    def complete(self) -> bool:
        """Everything is delivered, and had its effect, but the one that must stay unknown."""
        return self.sent == self.effects == len(self.lines) - 1 and len(self.unknown) == 1

    def as_json(self) -> list[dict[str, Any]]:
        return [
            {
                "delivery_id": str(line.delivery.delivery_id),
                "destination": line.delivery.destination,
                "attempts": line.delivery.attempt_count,
                "effects": line.effects,
                "status": line.delivery.status,
                "how": line.how,
            }
            for line in self.lines
        ]


def take_account(run_id: str, recipient: Simulator) -> Account:
    """Ask both sides about one run."""
    mine = Delivery.objects.filter(message__step__run__run_id=run_id)
    others = set(
        Delivery.objects.exclude(message__step__run__run_id=run_id)
        .filter(destination__in=mine.values("destination"))
        .values_list("idempotency_key", flat=True)
    )
    rows = mine.prefetch_related("attempts", "evidence")
    return Account(
        tuple(Line(row, _effects(row, recipient, others), how_settled(row)) for row in rows)
    )


def _effects(row: Delivery, recipient: Simulator, others: set[str]) -> int:
    """Every effect at the destination counts, under whatever key, but those of earlier runs."""
    submissions = recipient.last_submissions(row.destination, EVERY)
    return sum(1 for one in submissions if one["effect"] and one["key"] not in others)


def how_settled(row: Delivery) -> str:
    """How it became known, in a few words; from the ledger alone."""
    verdicts = {e.verdict for e in row.evidence.all()}
    if row.status == DeliveryStatus.UNKNOWN:
        return "no answer, and no search can tell"
    if "found" in verdicts:
        return "found by its recognizer, not sent again"
    if any(a.replayed for a in row.attempts.all()):
        return "sent again, its key was recognised"
    if "absent" in verdicts:
        return "proven absent, then sent"
    return ANSWERED if row.status == DeliveryStatus.DELIVERED else row.cause
