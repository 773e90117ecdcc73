"""Settle: the answer on the attempt, the status that follows, the event, the queue; one commit.

A settle never maps its own outcome to a status. It closes its attempts and then decides from the
whole history, as every other decision does: an acceptance kept from attempt 1 makes the delivery
delivered even if attempt 2, settled later, was not sent.
"""

import logging
from collections.abc import Sequence

from django.db import transaction

from delivery import credentials, forgotten, hooks, receipts
from delivery.decide import Decided, carry_out, decide
from delivery.doubting import doubt_borrowed_ids
from delivery.history import Case, read
from delivery.next_move import Kind
from delivery.submit import Call
from delivery.ways import Ways
from ledgers import evidence, moves, outbox
from ledgers.boundaries import boundary
from ledgers.outage import is_outage
from ledgers.states import DeliveryStatus

logger = logging.getLogger(__name__)


def settle(calls: Sequence[Call], actor: str, ways: Ways | None = None) -> list[Call]:
    """Settle finished calls, all in one commit, or row by row if one of them cannot be stored.

    Returns:
        the calls whose rows somebody else holds: the caller keeps their answers and tries again.

    Raises:
        DatabaseError, InterfaceError: the database is not there, or takes no writes
            (`ledgers.outage`); the caller keeps the answers and tries again. The submission is
            never repeated.
    """
    if not calls:
        return []
    ways = ways or Ways()
    try:
        finished, kept = _settle(calls, actor, ways)
    except Exception as error:
        if is_outage(error):
            raise
        # One row that cannot be stored must not make the others' acceptances forgotten.
        logger.exception("settling %d answers together failed; settling one by one", len(calls))
        alone = [_settle_alone(call, actor, ways) for call in calls]
        finished = [case for cases, _ in alone for case in cases]
        kept = [call for _, calls_kept in alone for call in calls_kept]
    kept = forgotten.part(kept, actor)
    boundary("settled")
    ended = [call for call in calls if call not in kept]
    credentials.sign.take_down(one for call in ended for one in call.refusals())
    hooks.tell(finished)
    receipts.match_answers(call.reported_as for call in ended if call.reported_as[1])
    return kept


def _settle_alone(call: Call, actor: str, ways: Ways) -> tuple[list[Case], list[Call]]:
    try:
        return _settle([call], actor, ways)
    except Exception as error:
        if is_outage(error):
            raise
        logger.exception(
            "attempt %s of delivery %s cannot be settled (provider's answer: %s)",
            call.attempt_id,
            call.delivery_pk,
            call.outcome.outcome,
        )
    return [], _keep_answer(call)


def _keep_answer(call: Call) -> list[Call]:
    """Close the attempt at least: what the answer means is decided when the lease is over.

    Returns:
        the call, if somebody else holds its row: the caller tries again.
    """
    try:
        with transaction.atomic():
            held = moves.hold([call.delivery_pk], skip_locked=True)
            closed = _close([call] if held else [])
    except Exception as error:
        if is_outage(error):
            return [call]
        logger.exception(
            "the answer to attempt %s of delivery %s cannot be kept either; it stays open and"
            " becomes unknown",
            call.attempt_id,
            call.delivery_pk,
        )
        return []
    return [] if call.attempt_id in closed else [call]


def _settle(calls: Sequence[Call], actor: str, ways: Ways) -> tuple[list[Case], list[Call]]:
    """The deliveries found delivered, and the calls whose attempts could not be closed."""
    fences: dict[int, int] = {}
    for call in calls:
        # Two attempts of one delivery may have ended together: the later one has the lease.
        fences[call.delivery_pk] = max(call.fence, fences.get(call.delivery_pk, 0))
    with transaction.atomic():
        held = moves.hold(fences, skip_locked=True)
        mine = [call for call in calls if call.delivery_pk in held]
        closed = _close(mine)
        refusals = [one for call in mine for one in call.refusals()]
        credentials.keep(refusals, actor)
        ways.forget(one.channel_id for one in refusals)
        boundary("attempts-closed")
        cases = read(held, ways)
        on_time = [decide(c) for c in cases if c.fence == fences[c.id] and c.leased]
        late = [decide(c) for c in cases if not (c.fence == fences[c.id] and c.leased)]
        done = carry_out(on_time, actor) | _settle_late(late, actor)
        delivered = [item.case for item in on_time + late if _is_delivered(item)]
        outbox.wake_next_parts(d.case.id for d in on_time + late if d.move.kind == Kind.FINISH)
        outbox.wake_generations(case.id for case in delivered if case.has_generations)
    kept = [call for call in calls if call.attempt_id not in closed]
    return [case for case in delivered if case.id in done], kept


def _close(calls: Sequence[Call]) -> set[int]:
    doubt_borrowed_ids(calls)
    return evidence.close_attempts([call.closing() for call in calls])


def _is_delivered(item: Decided) -> bool:
    return item.move.kind == Kind.FINISH and item.move.status == DeliveryStatus.DELIVERED


def _settle_late(late: Sequence[Decided], actor: str) -> set[int]:
    """The lease was lost: the answer is kept, an acceptance counts, and nothing else is moved.

    A row that is at rest is woken, so that the answer is taken into account.
    """
    done = carry_out([item for item in late if _is_delivered(item)], actor, leased=False)
    outbox.wake(item.case.id for item in late if not _is_delivered(item))
    return done
