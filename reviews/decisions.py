"""Decisions: asked for, approved, carried out, taken back. Pages, commands and code use this alike.

One row holds request, approval and execution. It is locked first and its stage is the guard, so a
double click and two approvers at the same moment carry it out once. What it is about is frozen as
it was seen: a row that has moved since is skipped, and a decision with nothing left is void.

Every refusal is in the trail, and says why and what would make it allowed.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from django.db import transaction

from ledgers import moves
from ledgers.clock import database_now
from ledgers.errors import LostWriteError, NotFoundError
from ledgers.models import Delivery
from reviews import agreeing, gates
from reviews.agreeing import Answering
from reviews.carrying import Fate, Order, carry
from reviews.errors import NotAllowedError, VoidError
from reviews.judged import Refusal, Seen
from reviews.kinds import NEEDS, Gate, Kind, Stage
from reviews.people import Person
from reviews.records import DecidedRow, Decision
from reviews.refusing import lacks, refuse_if, refuse_unless
from reviews.searching import look_refused
from reviews.seeing import conduct, see
from reviews.selecting import select
from reviews.telling import by, note_refusal, tell
from reviews.undoing import take_back
from reviews.wishes import Wish, answer_of, check, check_typing

MOVED = "it moved since it was looked at"
# Who has asked from a shell could approve with their own account: one person, and not two.
NO_ACCOUNT = Refusal("who asks for what takes two people has an account", "a request as somebody")
TOO_MANY = Refusal(
    "these are more than this decision may be about", f"at most {gates.CAP} of them at a time"
)
WISHED = ("kind", "reason", "ticket", "note", "link", "look_at")
LOOK = "a look at what it is now, and a new decision"


def decide(person: Person, wish: Wish, deliveries: Iterable[Delivery], about: str = "") -> Decision:
    """Ask for a decision about deliveries in hand, and carry it out if one person may.

    Args:
        person: who.
        wish: what.
        deliveries: about which; a row that moved since it was read is skipped.
        about: why they belong together.

    Raises:
        InvalidValueError: a field is missing or cannot be kept.
        NotAllowedError: a gate refuses it; nothing was changed.
    """
    draft = select(person, {row.pk: row.row_version for row in deliveries}, about)
    return request(person, wish, draft.pk)


def fill(person: Person, wish: Wish, draft_id: int) -> Decision:
    """Write down what is to be decided about a selection, so that it can be looked at before.

    Raises:
        NotAllowedError: it is no selection of theirs any more.
    """
    with transaction.atomic():
        draft = _locked(draft_id)
        refuse_if(_not_a_draft(draft, person, database_now()))
        for field in WISHED:
            setattr(draft, field, getattr(wish, field))
        draft.save(update_fields=WISHED)
    return draft


def request(person: Person, wish: Wish, draft_id: int) -> Decision:
    """Ask for a decision about a selection; carried out at once where one person may decide.

    Raises:
        InvalidValueError: a field is missing or cannot be kept.
        NotAllowedError: a gate refuses it; nothing was changed.
    """
    check(wish)
    return _refusable(person, draft_id, lambda: _request(person, wish, draft_id))


def approve(person: Person, decision_id: int, answer: str = "", typed: str = "") -> Decision:
    """Approve what another person asked for, and carry it out.

    Args:
        person: who approves.
        decision_id: the request.
        answer: why, for the trail.
        typed: what it is about, typed by hand, where one person decides alone.

    Raises:
        InvalidInputError: the answer cannot be kept.
        NotAllowedError: a gate refuses it.
        VoidError: everything that it is about has moved since.
    """
    said = answer_of(answer)
    return _refusable(person, decision_id, lambda: _approve(person, decision_id, said, typed))


def refuse(person: Person, decision_id: int, answer: str) -> Decision:
    """Refuse what somebody asked for; who asked may take the request back like this.

    Raises:
        InvalidInputError: the answer cannot be kept.
        NotAllowedError: it does not wait any more, or they may not.
    """
    said = answer_of(answer)
    return _refusable(person, decision_id, lambda: _refuse(person, decision_id, said))


def undo(person: Person, decision_id: int) -> Decision:
    """Take a decision back while nothing has left because of it.

    Raises:
        NotAllowedError: it is too late, or there is nothing to take back.
    """
    return _refusable(person, decision_id, lambda: _undo(person, decision_id))


def _refusable(person: Person, decision_id: int, act: Callable[[], Decision]) -> Decision:
    """All or nothing; what is refused leaves an event, and nothing else."""
    try:
        with transaction.atomic():
            decision = act()
    except NotAllowedError as error:
        note_refusal(person, decision_id, error)
        raise
    if decision.stage in {Stage.VOID, Stage.EXPIRED}:
        void = VoidError(Refusal(decision.answer, LOOK))
        note_refusal(person, decision_id, void)
        raise void
    return decision


# --- Asking


def _request(person: Person, wish: Wish, draft_id: int) -> Decision:
    decision, now = _locked(draft_id), database_now()
    refuse_unless(person.may(NEEDS[wish.kind].permission), lacks(NEEDS[wish.kind].permission))
    refuse_if(_not_a_draft(decision, person, now))
    rows = list(decision.rows.select_related("delivery"))
    refuse_unless(len(rows) <= gates.cap_of(wish.kind), TOO_MANY)
    check_typing(wish, [row.delivery.destination for row in rows])
    _write_down(decision, wish, now)
    refuse_unless(decision.gate == Gate.ONE or person.user is not None, NO_ACCOUNT)
    fit = _fit(decision, rows, wish.look_at)
    if not fit:
        raise NotAllowedError(_in_two(rows[0].why))
    if decision.gate == Gate.ONE:
        tell("decision_request", person, decision, rows)
        return _execute(decision, rows, fit, person, now)
    decision.stage = Stage.REQUESTED
    decision.save()
    _keep(rows, "result", "why")
    tell("decision_request", person, decision, rows)
    return decision


def _in_two(why: str) -> Refusal:
    """What a row says of why it is skipped; a gate's words name what would be right already."""
    said, _, right = why.removesuffix(".").partition(". Right would be: ")
    return Refusal(said, right or LOOK)


def _locked(decision_id: int) -> Decision:
    decision = Decision.objects.select_for_update().filter(pk=decision_id).first()
    if decision is None:
        raise NotFoundError(f"decision: there is none with the number {decision_id}.")
    return decision


def _not_a_draft(decision: Decision, person: Person, now: datetime) -> Refusal | None:
    if decision.stage != Stage.DRAFT:
        return decision.already(now)
    if not person.asked_for(decision):
        return Refusal(f"{decision.requested_by} selected this", "a selection of your own")
    if now >= decision.expires_at:
        return Refusal("the selection is older than a quarter of an hour", "a new selection")
    return None


def _write_down(decision: Decision, wish: Wish, now: datetime) -> None:
    limits = conduct()
    for field in WISHED:
        setattr(decision, field, getattr(wish, field))
    decision.gate = gates.gate_of(wish.kind, limits)
    decision.requested_at = now
    decision.expires_at = now + timedelta(seconds=gates.EXPIRES_S)
    if decision.gate == Gate.ALONE:
        decision.ripe_at = now + timedelta(seconds=gates.ALONE_WAIT_S)


def _fit(
    decision: Decision, rows: list[DecidedRow], look_at: datetime | None = None
) -> dict[int, Seen]:
    """The rows that the decision may still be about, held; the others are marked as skipped."""
    kind, ids = Kind(decision.kind), [row.delivery_id for row in rows]
    moves.hold(ids)
    seen = see(ids, but=decision.pk)
    limits = replace(conduct(), asked_at=decision.requested_at)
    for row in rows:
        one = seen[row.delivery_id]
        moved = NEEDS[kind].bound and one.version != row.row_version
        refusal = gates.judge(kind, one, limits).refusal
        if refusal is None and look_at is not None:
            refusal = look_refused(look_at, one)
        row.why = MOVED if moved else str(refusal)[:500] if refusal else ""
        row.result = "skipped" if row.why else ""
    return {row.delivery_id: seen[row.delivery_id] for row in rows if not row.why}


# --- Carrying out


def _execute(
    decision: Decision,
    rows: list[DecidedRow],
    fit: dict[int, Seen],
    person: Person,
    now: datetime,
) -> Decision:
    undo_s = conduct().undo_s if NEEDS[Kind(decision.kind)].sends else 0.0
    fates = carry(Order(decision, by(decision, person), fit, now, undo_s))
    for row in rows:
        fate = fates.get(row.delivery_id, Fate("skipped", row.why))
        row.result, row.why, row.made_id = fate.result, fate.why[:500], fate.made
    _keep(rows, "result", "why", "made")
    if all(row.result == "skipped" for row in rows):
        return _void(decision, rows, person, now)
    decision.stage = Stage.EXECUTED
    decision.executed_at = now
    decision.undo_until = now + timedelta(seconds=undo_s) if undo_s else None
    decision.save()
    return decision


def _keep(rows: list[DecidedRow], *fields: str) -> None:
    """What became of each row is part of the decision: without it nothing of it stands."""
    kept = DecidedRow.objects.bulk_update(rows, fields)
    if kept != len(rows):
        raise LostWriteError(f"{kept} of {len(rows)} rows of a decision were written")


def _void(decision: Decision, rows: list[DecidedRow], person: Person, now: datetime) -> Decision:
    """Nothing of it was carried out. The trail says so after the request or the approval."""
    tell("decision_void", person, decision, rows)
    return decision.end(Stage.VOID, rows[0].why, now)


# --- Answering


def _approve(person: Person, decision_id: int, answer: str, typed: str) -> Decision:
    decision, now = _locked(decision_id), database_now()
    refuse_unless(person.may("approve"), lacks("approve"))
    refuse_unless(decision.stage == Stage.REQUESTED, decision.already(now))
    if now >= decision.expires_at:
        return _expire(decision, person, now)
    rows = list(decision.rows.select_related("delivery"))
    named = agreeing.expected_typing([row.delivery.destination for row in rows])
    answering = Answering(person.name, person.user_id, typed)
    refuse_if(agreeing.approval_refused(decision.asked(named), answering, now))
    decision.approved_by, decision.approver, decision.answer = person.name, person.user, answer
    fit = _fit(decision, rows)
    if not fit:
        _keep(rows, "result", "why")
        return _void(decision, rows, person, now)
    tell("decision_approve", person, decision, rows)
    return _execute(decision, rows, fit, person, now)


def _expire(decision: Decision, person: Person, now: datetime) -> Decision:
    tell("decision_expire", person, decision, list(decision.rows.all()))
    return decision.end(Stage.EXPIRED, "nobody approved it within the hour", now)


def _refuse(person: Person, decision_id: int, answer: str) -> Decision:
    decision, now = _locked(decision_id), database_now()
    refuse_unless(person.asked_for(decision) or person.may("approve"), lacks("approve"))
    refuse_unless(decision.stage == Stage.REQUESTED, decision.already(now))
    refuse_unless(bool(answer), Refusal("there is no reason", "a reason"))
    decision.approved_by, decision.approver = person.name, person.user
    decision.end(Stage.REFUSED, answer, now)
    tell("decision_refuse", person, decision, list(decision.rows.all()))
    return decision


def _undo(person: Person, decision_id: int) -> Decision:
    decision, now = _locked(decision_id), database_now()
    refuse_unless(person.may("decide") or person.may("approve"), lacks("decide"))
    refuse_unless(decision.stage == Stage.EXECUTED, decision.already(now))
    if decision.undo_until is None or now >= decision.undo_until:
        raise NotAllowedError(Refusal("it is too late to take it back", "a look at what left"))
    rows = list(decision.rows.filter(result="done"))
    restored = take_back(Kind(decision.kind), rows, by(decision, person))
    if not restored:
        raise NotAllowedError(Refusal("it has moved on", "a look at what became of it"))
    for row in rows:
        if row.pk in restored:
            row.result, row.why = "undone", f"{person.name} took it back in time"
        else:
            row.why = "it had moved on and was not taken back"
    _keep(rows, "result", "why")
    tell("decision_undo", person, decision, rows)
    return decision.end(Stage.UNDONE, decision.answer, now)
