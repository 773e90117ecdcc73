"""Settle: the answer on the attempt, the status that follows, the event, the queue; one commit.

A settle never maps its own outcome to a status. It closes its attempts and then decides from the
whole history, as every other decision does: an acceptance kept from attempt 1 makes the delivery
delivered even if attempt 2, settled later, was not sent.
"""

import logging
from collections.abc import Sequence

from django.db import DatabaseError, InterfaceError, OperationalError, transaction

from delivery import hooks
from delivery.decide import Decided, carry_out, decide
from delivery.history import Case, Ways, read
from delivery.next_move import Kind
from delivery.submit import Call
from ledgers import evidence, moves, outbox
from ledgers.boundaries import boundary
from ledgers.states import DeliveryStatus

logger = logging.getLogger(__name__)


def settle(calls: Sequence[Call], actor: str, ways: Ways | None = None) -> None:
    """Settle finished calls, all in one commit, or row by row if one of them cannot be stored.

    Raises:
        OperationalError, InterfaceError: the database is not there; nothing was written, and the
            caller keeps the answers and tries again. The submission is never repeated.
    """
    if not calls:
        return
    ways = ways or Ways()
    try:
        finished = _settle(calls, actor, ways)
    except (OperationalError, InterfaceError):
        raise
    except DatabaseError:
        # One row that cannot be stored must not make the others' acceptances forgotten.
        logger.exception("settling %d answers together failed; settling one by one", len(calls))
        finished = [case for call in calls for case in _settle_alone(call, actor, ways)]
    boundary("settled")
    hooks.tell(finished)


def _settle_alone(call: Call, actor: str, ways: Ways) -> list[Case]:
    try:
        return _settle([call], actor, ways)
    except (OperationalError, InterfaceError):
        raise
    except DatabaseError:
        logger.exception(
            "attempt %s of delivery %s cannot be settled; it stays open and becomes unknown"
            " (provider's answer: %s)",
            call.attempt_id,
            call.delivery_pk,
            call.outcome.outcome,
        )
        return []


def _settle(calls: Sequence[Call], actor: str, ways: Ways) -> list[Case]:
    fences = {call.delivery_pk: call.fence for call in calls}
    with transaction.atomic():
        moves.hold(fences)
        evidence.close_attempts([call.closing() for call in calls])
        boundary("attempts-closed")
        cases = read(fences, ways)
        on_time = [decide(c) for c in cases if c.fence == fences[c.id] and c.leased]
        late = [decide(c) for c in cases if not (c.fence == fences[c.id] and c.leased)]
        carry_out(on_time, actor)
        _settle_late(late, actor)
        _wake_next_parts(on_time + late)
    finished = (*on_time, *late)
    return [item.case for item in finished if item.move.status == DeliveryStatus.DELIVERED]


def _settle_late(late: Sequence[Decided], actor: str) -> None:
    """The lease was lost: the answer is kept, an acceptance counts, and nothing else is moved.

    A row that is at rest is woken, so that the answer is taken into account.
    """
    accepted = [item for item in late if item.move.status == DeliveryStatus.DELIVERED]
    carry_out(accepted, actor, leased=False)
    outbox.wake(item.case.id for item in late if item not in accepted)


def _wake_next_parts(settled: Sequence[Decided]) -> None:
    delivered = [
        item.case.id
        for item in settled
        if item.move.kind == Kind.FINISH and item.move.status == DeliveryStatus.DELIVERED
    ]
    outbox.wake_next_parts(delivered)
