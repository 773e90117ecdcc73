"""Answers to attempts that the database has forgotten: it was restored while a call was under way.

Numbers are given again after a restore, so an answer belongs to an attempt only by its number,
fence and key together. An acceptance is still a fact about the delivery, which has the same key
whenever it was recorded; where that is forgotten too, the log is all that is left.
"""

import logging
from collections.abc import Sequence

from django.db import transaction

from delivery import hooks
from delivery.decide import carry_out, decide
from delivery.history import read
from delivery.outcomes import Accepted
from delivery.submit import Call
from delivery.ways import Ways
from ledgers import evidence, moves, outbox
from ledgers.canonical import storable
from ledgers.clock import database_now
from ledgers.evidence import Sighting
from ledgers.outage import is_outage
from ledgers.states import DeliveryStatus

logger = logging.getLogger(__name__)
WHY = "a worker had the provider's word that it was accepted; the database was restored meanwhile"


def part(calls: Sequence[Call], actor: str) -> list[Call]:
    """Of calls that could not be settled those whose attempt waits for its answer on record.

    Args:
        calls: with answers that closed no attempt, or whose rows somebody else holds.
        actor: the worker that has the answers.

    Returns:
        what is to be tried again. Acceptances of forgotten attempts are kept as evidence.
    """
    if not calls:
        return []
    found = evidence.attempts_on_record(call.attempt_id for call in calls)
    lost = [call for call in calls if _name(call) not in found]
    waiting = {_name(call) for call in lost if not _is_told(call, actor)}
    return [c for c in calls if found.get(_name(c)) or _name(c) in waiting]


def _name(call: Call) -> tuple[int, int, str]:
    return call.attempt_id, call.fence, call.key


def _is_told(call: Call, actor: str) -> bool:
    """False where somebody else holds the delivery at this moment."""
    said = call.outcome
    try:
        kept = not isinstance(said, Accepted) or _keep(call, said, actor)
    except Exception as error:
        if is_outage(error):
            raise
        logger.exception("an acceptance under the key %s cannot be kept", call.key)
        kept = True
    if kept:
        logger.error(
            "the database was restored and has forgotten attempt %s, which ended as %s under the"
            " key %s (provider's id %r)",
            call.attempt_id, said.outcome, call.key, getattr(said, "provider_message_id", ""),
        )  # fmt: skip
    return kept


def _keep(call: Call, accepted: Accepted, actor: str) -> bool:
    """Count it for the delivery of this key, if that is on record. False: somebody holds it."""
    with transaction.atomic():
        ids = evidence.deliveries_of(call.key, call.channel_id)
        if ids and not moves.hold(ids, skip_locked=True):
            return False
        evidence.add_sightings([_sighting(row_id, accepted, actor) for row_id in ids])
        decided = [decide(case) for case in read(ids, Ways())]
        done = carry_out(decided, actor, leased=False)
        now = [
            one.case
            for one in decided
            if one.move.status == DeliveryStatus.DELIVERED and one.case.id in done
        ]
        outbox.wake_next_parts(case.id for case in now)
        outbox.wake_generations(case.id for case in now if case.has_generations)
    hooks.tell(now)
    return True


def _sighting(row_id: int, accepted: Accepted, actor: str) -> Sighting:
    return Sighting(
        delivery_id=row_id,
        taken_at=database_now(),
        method="receipt",
        verdict="found",
        searched="the answer to an attempt that is forgotten",
        why=WHY,
        covered_from=None,
        pages=0,
        provider_message_id=storable(accepted.provider_message_id),
        response=storable(accepted.response),
        seen_by=actor,
    )
