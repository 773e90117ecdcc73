"""What the trail keeps of proposed changes. Never values: the trail cannot be erased."""

from ledgers.canonical import Json
from ledgers.trail import log
from reviews.errors import NotAllowedError
from reviews.kinds import Gate
from reviews.people import Person
from reviews.proposals import Proposal
from reviews.weighing import lines_of


def tell(kind: str, person: Person, proposal: Proposal) -> None:
    """Somebody asked for it, answered it, or came too late."""
    log(kind, person.name, detail=_detail(proposal))


def _detail(proposal: Proposal) -> dict[str, Json]:
    """A proposal as events keep it, without what is empty."""
    said: dict[str, Json] = {
        proposal.what: proposal.name,
        "proposal": proposal.pk,
        "fields": [line.field for line in lines_of(proposal)],
        "reason": proposal.reason,
        "requested_by": proposal.requested_by,
        "approved_by": proposal.approved_by,
        "answer": proposal.answer,
        "people": "two people" if proposal.gate == Gate.TWO else "one person",
    }
    return {name: value for name, value in said.items() if value}


def note_refusal(person: Person, proposal_id: int, error: NotAllowedError) -> None:
    """Who tried what, and why it was refused."""
    proposal = Proposal.objects.filter(pk=proposal_id).first()
    about: dict[str, Json] = {proposal.what: proposal.name} if proposal else {}
    log("refuse", person.name, detail={"proposal": proposal_id, **about, "why": str(error)})
