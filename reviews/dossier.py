"""Everything about one delivery, gathered for its page with a fixed number of statements."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from django.db.models import Count, QuerySet

from delivery.authority import allowed_by
from delivery.consequences import if_left, if_sent_again
from ledgers.models import Attempt, Delivery, Event, Evidence
from reviews import gates
from reviews.gates import Verdict
from reviews.hints import hint
from reviews.judged import Conduct, Seen
from reviews.kinds import NEEDS, Kind
from reviews.people import Person
from reviews.plainly import Boundary, Try, boundary, sentence
from reviews.records import DecidedRow
from reviews.searching import looks_by_itself, machine_looks_next
from reviews.seeing import conduct, see

SHOWN = 50  # attempts, findings and events
SIBLINGS = 12


@dataclass(frozen=True, slots=True)
class Option:
    """One decision as the form offers it."""

    kind: Kind
    verdict: Verdict
    permitted: bool
    hint: str = ""

    @property
    def open(self) -> bool:
        return self.verdict.allowed and self.permitted

    @property
    def why_not(self) -> str:
        if self.verdict.refusal is not None:
            return str(self.verdict.refusal)
        return f"It takes the permission {NEEDS[self.kind].permission}."


@dataclass(frozen=True, slots=True)
class Dossier:
    """What the page shows of one delivery."""

    row: Delivery
    seen: Seen
    last: Try | None
    attempts: list[Attempt]
    evidence: list[Evidence]
    trail: list[Event]
    decisions: list[DecidedRow]
    siblings: list[Delivery]
    account: str
    generations: list[Delivery]
    conduct: Conduct
    options: tuple[Option, ...]

    @property
    def now(self) -> datetime:
        return self.seen.now

    @property
    def sentence(self) -> str:
        return sentence(self.seen.status, self.seen.facts, self.last, self.row.cause, self.now)

    @property
    def boundary(self) -> Boundary | None:
        return boundary(self.seen.facts, self.last)

    @property
    def if_sent_again(self) -> str:
        return if_sent_again(self.seen.facts, self.now)

    @property
    def if_left(self) -> str:
        return if_left(self.seen.facts, self.now)

    @property
    def window_until(self) -> datetime | None:
        until = self.seen.facts.key_protects_until
        return until if until and self.now < until else None

    @property
    def window_words(self) -> str:
        """How the key stands, where it does not protect; an undocumented window is worded so."""
        facts = self.seen.facts
        if not facts.policy.key_honoured:
            return "no key is honoured"
        if facts.policy.window_s <= 0:
            return "the window is undocumented: it counts as none"
        if facts.key_first_used_at is None:
            return "the key has not been used"
        return "the key no longer protects"

    @property
    def rule(self) -> str | None:
        """The rule of the credential, as it is now, that allows this destination."""
        rules = self.row.message.channel.credential.destination_rules
        return allowed_by(self.row.destination, rules)

    @property
    def findings(self) -> list[tuple[Evidence, int]]:
        """What was seen, the latest first; searches in a row that say the same are one of many."""
        runs = [list(same) for _, same in groupby(self.evidence, _says)]
        return [(same[0], len(same)) for same in runs]

    @property
    def last_look(self) -> datetime | None:
        return gates.last_look(self.seen)

    @property
    def stale(self) -> bool:
        at = self.last_look
        return at is None or (self.now - at).total_seconds() > self.conduct.evidence_s

    @property
    def looks_by_itself(self) -> bool:
        return looks_by_itself(self.seen, self.conduct, self.row.message.channel.rate_per_s)

    @property
    def machine_looks_next(self) -> bool:
        return machine_looks_next(self.seen)

    @property
    def undecided(self) -> bool:
        """Whether there is anything to decide."""
        return any(option.verdict.allowed for option in self.options)


def account(counts: Counter[str], destinations: int) -> str:
    """One line that accounts for all.

    Args:
        counts: how many deliveries stand in which status.
        destinations: to how many they go; fewer, where messages were split into parts.
    """
    total = counts.total()
    noun = "destination" if destinations == 1 else "destinations"
    if destinations != total:
        noun = f"parts to {destinations} {noun}"
    listed = ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))
    return f"{total} of {total} {noun}: {listed}" if total else "no destinations"


def gather(row: Delivery, person: Person) -> Dossier:
    """Read everything about one delivery."""
    seen = see([row.pk])[row.pk]
    limits = conduct()
    attempts = list(row.attempts.order_by("number")[:SHOWN])
    counts = _counts(Delivery.objects.filter(message_id=row.message_id))
    return Dossier(
        row=row,
        seen=seen,
        last=last_try(attempts, seen),
        attempts=attempts,
        evidence=list(row.evidence.order_by("-pk")[:SHOWN]),
        trail=list(row.events.select_related("attempt").defer("inputs").order_by("-pk")[:SHOWN]),
        decisions=list(_decisions(row)[:SHOWN]),
        siblings=list(_siblings(row).exclude(status="delivered").exclude(pk=row.pk)[:SIBLINGS]),
        account=account(counts, counts.total() // row.message.parts),
        generations=list(_siblings(row).filter(destination=row.destination, part=row.part)),
        conduct=limits,
        options=options(seen, limits, person),
    )


def options(seen: Seen, limits: Conduct, person: Person) -> tuple[Option, ...]:
    """Every decision that could be about it, in the order of the product."""
    return tuple(
        Option(
            kind,
            gates.judge(kind, seen, limits),
            person.may(NEEDS[kind].permission),
            hint(kind, [seen.status]),
        )
        for kind in Kind
    )


def last_try(attempts: list[Attempt], seen: Seen) -> Try | None:
    if not attempts:
        return None
    last = attempts[-1]
    held = seen.facts.own_in_flight
    return Try(
        number=last.number,
        outcome=last.outcome,
        phase=last.phase,
        bytes_written=last.bytes_written,
        opened_at=last.opened_at,
        closed_at=last.closed_at,
        lost=last.closed_at is None and not held,
        late=last.late,
        error=last.error,
    )


def _says(one: Evidence) -> tuple[str, ...]:
    """All that a page shows of it but its moment."""
    return (one.verdict, one.method, one.why, one.searched, one.response, one.seen_by)


def _decisions(row: Delivery) -> QuerySet[DecidedRow]:
    rows = DecidedRow.objects.filter(delivery=row).exclude(decision__stage="draft")
    return rows.select_related("decision").order_by("-pk")


def _counts(rows: QuerySet[Delivery]) -> Counter[str]:
    """How many destinations stand in which status; a later generation is no further one."""
    grouped = rows.filter(generation=1).values_list("status").annotate(number=Count("pk"))
    return Counter(dict(grouped.order_by()))


def _siblings(row: Delivery) -> Any:
    return (
        Delivery.objects.filter(message_id=row.message_id)
        .only("delivery_id", "destination", "part", "generation", "status", "cause", "message_id")
        .order_by("pk")
    )
