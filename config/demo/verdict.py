"""What one telling came to: whether it was good, as a table for people, and as JSON."""

from dataclasses import dataclass
from typing import Any

from config.demo.account import Account, Line
from ledgers.management.words import table

HEADERS = ("destination", "attempts", "effects", "status", "how")


@dataclass(frozen=True, slots=True)
class Ending:
    """What one telling came to.

    `broken`: invariants of the whole ledgers, the sample days' rows among them, that do not hold.
    `differing`: stored decisions that their inputs do not lead to.
    """

    run_id: str
    account: Account
    kills: int
    broken: tuple[str, ...]
    differing: int

    @property
    def good(self) -> bool:
        whole = not self.broken and not self.differing
        return whole and not self.account.duplicates and self.account.complete

    def as_text(self, place: str) -> str:
        """Destination by destination, and the sum. `place`: where the unknown one is looked at."""
        account = self.account
        unknown = f" (open it: {place})" if account.unknown else ""
        lines = [
            "",
            table(HEADERS, [_row(line) for line in account.lines]),
            "",
            self._sum + unknown,
            *(_confession(line) for line in account.unknown),
            *(f"BROKEN invariant: {name}" for name in self.broken),
            *([f"BROKEN: {self.differing} decisions differ"] if self.differing else []),
        ]
        return "\n".join(lines)

    @property
    def _sum(self) -> str:
        account = self.account
        return (
            f"sent {account.sent}, effects at the recipient {account.effects}, killed"
            f" {self.kills} times, duplicates {account.duplicates}, unknown {len(account.unknown)}"
        )

    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        account = self.account
        return {
            "run_id": self.run_id,
            "sent": account.sent,
            "effects": account.effects,
            "killed": self.kills,
            "duplicates": account.duplicates,
            "unknown": len(account.unknown),
            "effects_of_unknown": sum(line.effects for line in account.unknown),
            "broken_invariants": list(self.broken),
            "differing_decisions": self.differing,
            "good": self.good,
            "deliveries": account.as_json(),
        }


def _row(line: Line) -> tuple[object, ...]:
    row = line.delivery
    return (row.destination, row.attempt_count, line.effects, row.status, line.how)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _confession(line: Line) -> str:
    return (
        f"The unknown one is not among these: the recipient acted on it {_times(line.effects)},\n"
        "by its own count, which no sender sees. It lost the answer, hides its history and\n"
        "honours no key. Nothing sends it again by guesswork: a person decides."
    )
