"""How a practice incident stands: decision by decision, against what the recipient really has."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from config.drill.incident import ALERT, deliveries
from config.drill.judging import HARM, OVER, Judgement, Truth, judge
from delivery.simulator.client import Simulator
from ledgers.management.words import seconds, table
from ledgers.models import Delivery, Event, Run
from ledgers.states import OPEN
from reviews.kinds import Kind, Stage
from reviews.records import DecidedRow

EVERY = 1_000_000
HEADERS = ("destination", "arrived", "decided", "by", "after", "it was", "because")
# What decides nothing: it asks for one more look.
LOOKS = (Kind.LOOK_AGAIN,)


@dataclass(frozen=True, slots=True)
class Line:
    """One delivery. `after_s`: from the alert to the decision, None while there is none."""

    delivery: Delivery
    truth: Truth
    kind: str
    by: str
    after_s: float | None
    judgement: Judgement

    @property
    def told(self) -> bool:
        """Whether the truth is told: about what is not decided it is still practised."""
        return self.judgement.word in OVER


@dataclass(frozen=True, slots=True)
class Result:
    """All of one incident."""

    run: Run
    alerted_at: datetime
    lines: tuple[Line, ...]

    @property
    def over(self) -> bool:
        """Whether everything is decided, and what was decided has happened."""
        return all(line.judgement.word in OVER for line in self.lines)

    @property
    def good(self) -> bool:
        """Everything is decided, and nothing was doubled or lost by it."""
        return self.over and not any(line.judgement.word in HARM for line in self.lines)

    def count(self, word: str) -> int:
        return sum(line.judgement.word == word for line in self.lines)

    @property
    def longest_s(self) -> float:
        return max((line.after_s or 0 for line in self.lines), default=0)

    def as_text(self) -> str:
        """A table, and the sum of it."""
        rows = [_cells(line) for line in self.lines]
        words = {
            "right": "right", "safe": "not right but safe", "duplicate": "duplicated",
            "loss": "lost", "undecided": "undecided", "waiting": "waiting for a second person",
            "under way": "under way",
        }  # fmt: skip
        said = [f"{self.count(word)} {text}" for word, text in words.items() if self.count(word)]
        taken = f"; the last decision came {seconds(self.longest_s)} after the alert"
        return (
            f"{table(HEADERS, rows)}\n\n{self.run.run_id}: {', '.join(said)}"
            f"{taken if self.longest_s else ''}"
        )

    def as_json(self) -> dict[str, Any]:
        """The same for programs; times in seconds."""
        return {
            "run_id": self.run.run_id,
            "alerted_at": self.alerted_at,
            "over": self.over,
            "good": self.good,
            "longest_s": self.longest_s,
            "deliveries": [
                {
                    "delivery_id": str(line.delivery.delivery_id),
                    "destination": line.delivery.destination,
                    "arrived": line.truth.arrived if line.told else None,
                    "effects": line.truth.effects if line.told else None,
                    "decision": line.kind,
                    "by": line.by,
                    "after_s": line.after_s,
                    "judgement": line.judgement.word,
                    "why": line.judgement.why,
                }
                for line in self.lines
            ],
        }


def result_of(run: Run, recipient: Simulator) -> Result:
    """Ask the ledger what was decided, and the recipient what it has."""
    alerted_at = Event.objects.filter(run=run, kind=ALERT).latest("pk").at
    lines = [_line(row, recipient, alerted_at) for row in deliveries(run)]
    return Result(run, alerted_at, tuple(lines))


def _line(row: Delivery, recipient: Simulator, alerted_at: datetime) -> Line:
    truth = _truth(row, recipient)
    asked = DecidedRow.objects.filter(delivery=row).exclude(decision__kind__in=LOOKS)
    stages = [Stage.REQUESTED, Stage.EXECUTED]
    made = asked.filter(decision__stage__in=stages).exclude(result__in=["skipped", "undone"])
    last = made.select_related("decision").order_by("-decision_id").first()
    if last is None:
        return Line(row, truth, "", "", None, judge("", "", truth))
    decision = last.decision
    after_s = (
        (decision.requested_at - alerted_at).total_seconds() if decision.requested_at else None
    )
    people = " and ".join(filter(None, (decision.requested_by, decision.approved_by)))
    judgement = judge(decision.kind, decision.stage, truth)
    return Line(row, truth, decision.kind, people, after_s, judgement)


def _truth(row: Delivery, recipient: Simulator) -> Truth:
    seen = recipient.last_submissions(row.destination, EVERY)
    newest = (
        Delivery.objects.filter(message=row.message, destination=row.destination, part=row.part)
        .order_by("generation")
        .last()
    ) or row
    moving = newest.decision in {"send_again", "try_again"} and newest.status in OPEN
    return Truth(
        arrived=bool(seen and seen[0]["effect"]),
        effects=sum(bool(one["effect"]) for one in seen),
        moving=moving,
    )


def _cells(line: Line) -> tuple[object, ...]:
    after = "" if line.after_s is None else seconds(line.after_s)
    arrived = ("yes" if line.truth.arrived else "no") if line.told else ""
    label = Kind(line.kind).label if line.kind else ""
    judgement = line.judgement
    return (
        line.delivery.destination,
        arrived,
        label,
        line.by,
        after,
        judgement.word,
        judgement.why,
    )
