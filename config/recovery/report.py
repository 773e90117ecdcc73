"""What a restore drill came to: claims that hold or do not, and what the recipient counted."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ledgers.management.words import section, table


@dataclass(frozen=True, slots=True)
class Claim:
    """What must hold. `said`: what was seen."""

    text: str
    holds: bool
    said: str = ""


@dataclass(frozen=True, slots=True)
class Counted:
    """One destination: what became of it, and what its recipient has of it."""

    to: str
    became: str
    channel: str
    effects: int
    submissions: int
    status: str


@dataclass(slots=True)
class Report:
    """Everything that was claimed and counted, in order."""

    where: str
    claims: list[Claim] = field(default_factory=list)
    counted: list[Counted] = field(default_factory=list)

    def claim(self, text: str, holds: bool, said: object = "") -> None:  # noqa: FBT001
        """Note whether this holds."""
        self.claims.append(Claim(text, holds, str(said)))

    @property
    def good(self) -> bool:
        return all(claim.holds for claim in self.claims)

    def as_json(self) -> dict[str, Any]:
        return {
            "good": self.good,
            "where": self.where,
            "claims": [asdict(claim) for claim in self.claims],
            "counted": [asdict(one) for one in self.counted],
        }

    def as_text(self) -> str:
        counts = [
            (one.to, one.became, one.channel, one.submissions, one.effects, one.status)
            for one in self.counted
        ]
        heads = ("destination", "what became of it", "channel", "submitted", "acted on", "ledger")
        told = "\n".join(map(_line, self.claims))
        counted = section("What the recipient counted", table(heads, counts))
        return "\n".join(filter(None, (told, counted, f"\n{self._sum}")))

    @property
    def _sum(self) -> str:
        wrong = sum(not claim.holds for claim in self.claims)
        if wrong:
            return f"{wrong} of {len(self.claims)} claims do NOT hold. Do not trust a restore."
        effects = sum(one.effects for one in self.counted)
        sent = f"{effects} effects, none twice" if self.counted else "Nothing was sent"
        return f"All {len(self.claims)} claims hold. {sent}."


def _line(claim: Claim) -> str:
    return f"{'ok ' if claim.holds else 'NOT'}  {': '.join(filter(None, (claim.text, claim.said)))}"


def listed(things: Sequence[object]) -> str:
    """Things in a row; "none" where there are none."""
    return ", ".join(map(str, things)) or "none"
