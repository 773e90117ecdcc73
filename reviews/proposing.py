"""Changes of channels and credentials: looked at, asked for, approved, carried out.

What widens takes two people (`reviews.widening`); what only narrows, or is about a row that nothing
was ever recorded through, is one person's. One row holds request, approval and execution. It is
locked first and its stage is the guard, so a double click and two approvers at the same moment
carry it out once. It is bound to the versions that were seen: where the row, or the credential that
it is to use, has been changed since, it is void.

Every refusal is in the trail, and says why and what would make it allowed.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

from django.db import transaction

from delivery import editing
from delivery.editing import Author, Settings
from delivery.errors import EditError, InvalidInputError
from ledgers.canonical import Json, check_text
from ledgers.clock import database_now
from ledgers.errors import NotFoundError
from ledgers.models import Channel, Credential
from reviews import agreeing, gates
from reviews.agreeing import Answering
from reviews.asking import MAX_REASON
from reviews.errors import NotAllowedError, VoidError
from reviews.judged import Refusal
from reviews.kinds import Gate, Stage
from reviews.people import Person
from reviews.proposal_events import note_refusal, tell
from reviews.proposals import Proposal
from reviews.refusing import lacks, refuse_if, refuse_unless
from reviews.weighing import authority_version, gate_of, lines_of, moved

T = TypeVar("T")
MAY = "edit_channels"
MOVED = "it was changed since it was looked at"
LOOK = Refusal(MOVED, "a look at what it is now, and a new change")
NO_ACCOUNT = Refusal("who asks for what takes two people has an account", "a request as somebody")


def draft(person: Person, row: Settings, values: Mapping[str, Json], seen: int) -> Proposal:
    """Write down a change, so that it can be looked at before anybody asks for it.

    Args:
        person: who.
        row: which channel or credential.
        values: what of it is to be different.
        seen: the row's version that they looked at.

    Raises:
        NotAllowedError: they may not, nothing is different, or the row has moved.
    """
    refuse_unless(person.may(MAY), lacks(MAY))
    row.refresh_from_db()
    refuse_unless(row.row_version == seen, LOOK)
    before = editing.values_of(row)
    after = {name: value for name, value in values.items() if value != before[name]}
    refuse_unless(bool(after), Refusal("nothing is different", "a change of something"))
    return Proposal.objects.create(
        **{editing.what(row): row},
        before=before,
        after=after,
        row_version=row.row_version,
        authority_version=authority_version(row, after),
        requested_by=person.name,
        requester=person.user,
        expires_at=database_now() + timedelta(seconds=gates.DRAFT_S),
    )


def request(person: Person, proposal_id: int, reason: str) -> Proposal:
    """Ask for a change; carried out at once where one person may.

    Raises:
        InvalidInputError: there is no reason.
        NotAllowedError: something speaks against it; nothing was changed.
    """
    why = _reason(reason)
    return _refusable(person, proposal_id, lambda: _request(person, proposal_id, why))


def approve(person: Person, proposal_id: int, answer: str = "", typed: str = "") -> Proposal:
    """Approve what another person asked for, and carry it out.

    Args:
        person: who approves.
        proposal_id: the request.
        answer: why, for the trail.
        typed: the name of what is changed, typed by hand, where one person decides alone.

    Raises:
        NotAllowedError: something speaks against it; nothing was changed.
        VoidError: what it is about has been changed since.
    """
    said = _words("answer", answer)
    return _refusable(person, proposal_id, lambda: _approve(person, proposal_id, said, typed))


def refuse(person: Person, proposal_id: int, answer: str) -> Proposal:
    """Refuse what somebody asked for; who asked may take the request back like this.

    Raises:
        NotAllowedError: it does not wait any more, or they may not.
    """
    said = _words("answer", answer)
    return _refusable(person, proposal_id, lambda: _refuse(person, proposal_id, said))


def add(person: Person, kind: type[Settings], values: Mapping[str, Json], reason: str) -> Proposal:
    """Make a channel or a credential: one person may, since nothing was ever sent through it.

    Raises:
        InvalidInputError: there is no reason.
        NotAllowedError: they may not, or it could not work like this.
    """
    why = _reason(reason)
    refuse_unless(person.may(MAY), lacks(MAY))
    now = database_now()
    with transaction.atomic():
        row = _sound(lambda: editing.add(kind, values, Author(person.name, {"reason": why})))
        return Proposal.objects.create(
            **{editing.what(row): row},
            after=editing.values_of(row),
            stage=Stage.EXECUTED,
            gate=Gate.ONE,
            reason=why,
            requested_by=person.name,
            requester=person.user,
            requested_at=now,
            expires_at=now,
            executed_at=now,
        )


def _refusable(person: Person, proposal_id: int, act: Callable[[], Proposal]) -> Proposal:
    """All or nothing; what is refused leaves an event, and nothing else."""
    try:
        with transaction.atomic():
            proposal = act()
    except NotAllowedError as error:
        note_refusal(person, proposal_id, error)
        raise
    if proposal.stage in {Stage.VOID, Stage.EXPIRED}:
        void = VoidError(Refusal(proposal.answer, LOOK.right))
        note_refusal(person, proposal_id, void)
        raise void
    return proposal


def _request(person: Person, proposal_id: int, reason: str) -> Proposal:
    proposal, now = _locked(proposal_id), database_now()
    refuse_unless(person.may(MAY), lacks(MAY))
    refuse_if(_not_a_draft(proposal, person, now))
    row = _hold(proposal)
    refuse_unless(not moved(proposal), LOOK)
    proposal.gate = gate_of(row, lines_of(proposal))
    refuse_unless(proposal.gate == Gate.ONE or person.user is not None, NO_ACCOUNT)
    proposal.reason, proposal.requested_at = reason, now
    proposal.expires_at = now + timedelta(seconds=gates.EXPIRES_S)
    if proposal.gate == Gate.ALONE:
        proposal.ripe_at = now + timedelta(seconds=gates.ALONE_WAIT_S)
    if proposal.gate == Gate.ONE:
        return _execute(proposal, person, now)
    _sound(lambda: editing.check(row, proposal.after))
    proposal.stage = Stage.REQUESTED
    proposal.save()
    tell("proposal_request", person, proposal)
    return proposal


def _approve(person: Person, proposal_id: int, answer: str, typed: str) -> Proposal:
    proposal, now = _locked(proposal_id), database_now()
    refuse_unless(person.may("approve"), lacks("approve"))
    refuse_unless(proposal.stage == Stage.REQUESTED, proposal.already(now))
    if now >= proposal.expires_at:
        tell("proposal_expire", person, proposal)
        return proposal.end(Stage.EXPIRED, "nobody approved it within the hour", now)
    answering = Answering(person.name, person.user_id, typed)
    refuse_if(agreeing.approval_refused(proposal.asked(proposal.name), answering, now))
    _hold(proposal)
    if moved(proposal):
        tell("proposal_void", person, proposal)
        return proposal.end(Stage.VOID, MOVED, now)
    proposal.approved_by, proposal.approver, proposal.answer = person.name, person.user, answer
    tell("proposal_approve", person, proposal)
    return _execute(proposal, person, now)


def _refuse(person: Person, proposal_id: int, answer: str) -> Proposal:
    proposal, now = _locked(proposal_id), database_now()
    refuse_unless(person.asked_for(proposal) or person.may("approve"), lacks("approve"))
    refuse_unless(proposal.stage == Stage.REQUESTED, proposal.already(now))
    refuse_unless(bool(answer), Refusal("there is no reason", "a reason"))
    proposal.approved_by, proposal.approver = person.name, person.user
    proposal.end(Stage.REFUSED, answer, now)
    tell("proposal_refuse", person, proposal)
    return proposal


def _execute(proposal: Proposal, person: Person, now: datetime) -> Proposal:
    author = Author(person.name, {"proposal": proposal.pk, "reason": proposal.reason})
    _sound(lambda: editing.change(proposal.row, proposal.after, author))
    proposal.stage, proposal.executed_at = Stage.EXECUTED, now
    proposal.save()
    _void_others(proposal, person, now)
    return proposal


def _void_others(proposal: Proposal, person: Person, now: datetime) -> None:
    """What else waits about this row is about a version that is gone.

    One that somebody answers at this moment is left to them: they wait for the row, and see.
    """
    waiting = Proposal.objects.filter(channel=proposal.channel, credential=proposal.credential)
    for other in waiting.filter(stage=Stage.REQUESTED).select_for_update(
        skip_locked=True, of=["self"]
    ):
        other.end(Stage.VOID, MOVED, now)
        tell("proposal_void", person, other)


def _sound(act: Callable[[], T]) -> T:
    """What could not work is refused with its field; it may have been right when it was asked."""
    try:
        return act()
    except EditError as error:
        raise NotAllowedError(Refusal(str(error).rstrip("."), "other values")) from error


def _hold(proposal: Proposal) -> Settings:
    """What it is about, as it is now; the credential first, as whoever changes one does."""
    name = proposal.after.get("credential") if proposal.channel else None
    if name:
        list(Credential.objects.select_for_update().filter(name=name))
    row = editing.hold(proposal.row)
    if isinstance(row, Channel):
        proposal.channel = row
    else:
        proposal.credential = row
    return row


def _locked(proposal_id: int) -> Proposal:
    proposal = Proposal.objects.select_for_update().filter(pk=proposal_id).first()
    if proposal is None:
        raise NotFoundError(f"change: there is none with the number {proposal_id}.")
    return proposal


def _not_a_draft(proposal: Proposal, person: Person, now: datetime) -> Refusal | None:
    if proposal.stage != Stage.DRAFT:
        return proposal.already(now)
    if not person.asked_for(proposal):
        return Refusal(f"{proposal.requested_by} wrote this down", "a change of your own")
    if now >= proposal.expires_at:
        return Refusal("it was written down more than a quarter of an hour ago", LOOK.right)
    return None


def _reason(text: str) -> str:
    reason = _words("reason", text)
    if not reason:
        raise InvalidInputError("reason", "is empty", "why, in words that others understand later")
    return reason


def _words(field: str, text: str) -> str:
    said = check_text(text, field).strip()
    if len(said) > MAX_REASON:
        raise InvalidInputError(field, f"has {len(said)} characters", f"at most {MAX_REASON}")
    return said
