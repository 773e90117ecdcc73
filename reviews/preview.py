"""What a decision would do to each row of a frozen selection, or what it did."""

from collections import Counter
from dataclasses import dataclass, replace

from delivery.consequences import if_left, if_sent_again
from ledgers.models import Delivery
from ledgers.states import NOT_SENT, DeliveryStatus
from reviews import agreeing, gates
from reviews.dossier import Option, options
from reviews.gates import Verdict
from reviews.hints import hint, needing_a_sighting
from reviews.judged import Conduct, Seen
from reviews.kinds import NEEDS, Gate, Kind, Stage
from reviews.people import Person
from reviews.records import DecidedRow, Decision
from reviews.seeing import conduct, see

SHOWN = 50
MOVED = "it moved since it was looked at"

# What each decision means, in one sentence each.
MEANS = {
    Kind.ARRIVED: "It counts as delivered from now on, on your evidence. Nothing is sent.",
    Kind.SEND_SAME_KEY: "The same submission goes out once more under the same key. The provider"
    " recognises it: no second message.",
    Kind.SEND_AFTER_ABSENT: "It goes out once more. A complete search shows that the earlier one"
    " did not arrive.",
    Kind.SEND_OTHERWISE: "A new generation goes out under a key of its own, with a visible mark"
    " where the channel shows text. People may get it twice. The earlier one is never sent again.",
    Kind.RELEASE: "It counts as never sent, on your evidence, and goes out as it would have. If the"
    " restore did forget a send of it, and no key protects it, people get it twice.",
    Kind.TRY_AGAIN: "It goes out once more. It is known not to have been sent.",
    Kind.LEAVE: "It stays as it is, and no machine sends it any more.",
    Kind.DISCARD: "It stays expired, and counts as decided.",
    Kind.LOOK_AGAIN: "A worker searches the destination then. Nothing is sent before that.",
    Kind.CANCEL: "Nothing more is sent. What was not sent is cancelled; for what may have been"
    " sent it is too late, and it says so.",
    Kind.APPROVE_TRY: "It goes out.",
    Kind.REFUSE_TRY: "It is cancelled. Nothing is sent.",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a decision as it stands now. `why`: why it is skipped, or what it came to."""

    decided: DecidedRow
    row: Delivery
    seen: Seen
    why: str
    fits: bool

    @property
    def if_sent_again(self) -> str:
        return if_sent_again(self.seen.facts, self.seen.now)

    @property
    def if_left(self) -> str:
        return if_left(self.seen.facts, self.seen.now)


@dataclass(frozen=True, slots=True)
class Choice:
    """One kind of decision about a whole selection, and for how many rows it is allowed."""

    kind: Kind
    fitting: int
    permitted: bool
    why: str
    hint: str

    @property
    def open(self) -> bool:
        return self.permitted and self.fitting > 0


@dataclass(frozen=True, slots=True)
class Preview:
    """A decision and its first rows. `fitting`: of all rows, how many it would be about."""

    lines: tuple[Line, ...]
    count: int
    fitting: int
    typed: str
    gate: Gate | None
    choices: tuple[Choice, ...]
    results: tuple[tuple[str, int], ...]
    means: str

    @property
    def sightings(self) -> list[str]:
        """What is offered that takes what a person saw."""
        return needing_a_sighting(choice.kind for choice in self.choices if choice.open)

    @property
    def only(self) -> Line | None:
        return self.lines[0] if self.count == 1 else None


def preview(decision: Decision, person: Person) -> Preview:
    """Judge every row as it is now. Reads only."""
    rows = list(decision.rows.select_related("delivery__message__channel", "made"))
    seen = see([row.delivery_id for row in rows], but=decision.pk)
    kind = Kind(decision.kind) if decision.kind else None
    limits = replace(conduct(), asked_at=decision.requested_at)
    lines = [_line(row, seen[row.delivery_id], kind, limits, decision) for row in rows]
    return Preview(
        lines=tuple(lines[:SHOWN]),
        count=len(lines),
        fitting=sum(line.fits for line in lines),
        typed=agreeing.expected_typing([row.delivery.destination for row in rows]),
        gate=gates.gate_of(kind, limits) if kind else None,
        choices=_choices(lines, person, limits) if kind is None else (),
        means=MEANS[kind] if kind else "",
        results=tuple(Counter(row.result for row in rows if row.result).most_common()),
    )


def _line(
    row: DecidedRow, seen: Seen, kind: Kind | None, limits: Conduct, decision: Decision
) -> Line:
    if decision.stage not in {Stage.DRAFT, Stage.REQUESTED}:
        return Line(row, row.delivery, seen, _came_to(row, kind), row.result != "skipped")
    if row.row_version != seen.version and (kind is None or NEEDS[kind].bound):
        return Line(row, row.delivery, seen, MOVED, fits=False)
    verdict: Verdict | None = gates.judge(kind, seen, limits) if kind else None
    refusal = verdict.refusal if verdict else None
    return Line(row, row.delivery, seen, str(refusal or ""), fits=refusal is None)


def _came_to(row: DecidedRow, kind: Kind | None) -> str:
    """What is kept says what was going to happen; once it has, it says what did."""
    sent = row.made or row.delivery
    ended = {DeliveryStatus.DELIVERED, *NOT_SENT}
    if row.result == "done" and kind and NEEDS[kind].sends and sent.status in ended:
        return f"it is {sent.status} by now"
    return row.why


def _choices(lines: list[Line], person: Person, limits: Conduct) -> tuple[Choice, ...]:
    """Each kind, with the number of rows that it fits; the first refusal says why not."""
    judged: list[tuple[Option, ...]] = [options(line.seen, limits, person) for line in lines]
    statuses = {line.seen.status for line in lines}
    found = []
    for index, kind in enumerate(Kind):
        if NEEDS[kind].at:
            continue
        mine = [one[index] for one in judged]
        fitting = sum(option.verdict.allowed for option in mine)
        why = "" if fitting else mine[0].why_not
        said = hint(kind, statuses)
        found.append(Choice(kind, fitting, person.may(NEEDS[kind].permission), why, said))
    return tuple(sorted(found, key=lambda choice: not choice.fitting))
