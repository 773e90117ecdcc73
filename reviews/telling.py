"""What the trail keeps of decisions: who asked, who agreed, who was refused, and about what."""

from collections.abc import Sequence

from ledgers.canonical import Json
from ledgers.clock import ClockTimestamp
from ledgers.models import Event
from ledgers.rulings import By
from ledgers.trail import log
from reviews.errors import NotAllowedError
from reviews.kinds import Gate
from reviews.people import Person
from reviews.records import DecidedRow, Decision


def detail(decision: Decision) -> dict[str, Json]:
    """A decision as events keep it, without what is empty."""
    said: dict[str, Json] = {
        "decision": decision.pk,
        "kind": decision.kind,
        "reason": decision.reason,
        "ticket": decision.ticket,
        "note": decision.note,
        "link": decision.link,
        "about": decision.about,
        "requested_by": decision.requested_by,
        "approved_by": decision.approved_by,
        "answer": decision.answer,
        "people": "two people" if decision.gate == Gate.TWO else "one person",
    }
    return {name: value for name, value in said.items() if value}


def by(decision: Decision, person: Person) -> By:
    """Who carries it out, and why, for the events of the rows."""
    return By(person.name, detail(decision))


def tell(kind: str, person: Person, decision: Decision, rows: Sequence[DecidedRow]) -> None:
    """One event per delivery that the decision is about."""
    said = detail(decision)
    Event.objects.bulk_create(
        Event(
            at=ClockTimestamp(),
            kind=kind,
            actor=person.name,
            delivery_id=row.delivery_id,
            detail=said | ({"skipped": row.why} if row.result == "skipped" else {}),
        )
        for row in rows
    )


def note_refusal(person: Person, decision_id: int, error: NotAllowedError) -> None:
    """Who tried what, and why it was refused."""
    decision = Decision.objects.filter(pk=decision_id).first()
    delivery = decision.rows.values_list("delivery_id", flat=True).first() if decision else None
    log(
        "refuse",
        person.name,
        delivery_pk=delivery,
        detail={"decision": decision_id, "why": str(error)},
    )
