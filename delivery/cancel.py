"""Withdraw what is not wanted any more, and say honestly whether it was in time."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from delivery.decide import carry_out, decide
from delivery.history import read
from delivery.ways import Ways
from ledgers import evidence, moves, outbox
from ledgers.canonical import check_name, check_text, storable
from ledgers.errors import NotFoundError
from ledgers.models import Delivery, Run
from ledgers.models.trail import MAX_ACTOR
from ledgers.states import OPEN, DeliveryStatus


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What a withdrawal came to, as delivery ids.

    `in_time`: provably never sent. `too_late`: it may have been sent; the withdrawal is kept and
    forbids any further send. `ended`: it had ended before.
    """

    in_time: tuple[str, ...]
    too_late: tuple[str, ...]
    ended: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{len(self.in_time)} cancelled in time, {len(self.too_late)} too late: they may have"
            f" been sent, {len(self.ended)} had ended before"
        )


def cancel(
    run_id: str,
    *,
    message: str | None = None,
    destination: str | None = None,
    actor: str = "agent",
    reason: str = "",
) -> Cancelled:
    """Withdraw the open deliveries of a run.

    Args:
        run_id: the run.
        message: only this message, by its name.
        destination: only this destination, as it was normalised.
        actor: who withdraws, for the trail.
        reason: why, for the trail.

    Raises:
        NotFoundError: there is no such run.
        InvalidValueError: nothing can have this name.
    """
    check_name(run_id, "run_id")
    check_name(actor, "actor", MAX_ACTOR)
    if not Run.objects.filter(run_id=run_id).exists():
        raise NotFoundError(f"run_id: there is no run {run_id!r}.")
    wanted = Delivery.objects.filter(message__step__run__run_id=run_id)
    if message is not None:
        check_name(message, "message")
        wanted = wanted.filter(message__name=message)
    if destination is not None:
        check_text(destination, "destination")
        wanted = wanted.filter(destination=destination)
    return cancel_deliveries(list(wanted.values_list("pk", flat=True)), actor, reason)


def cancel_deliveries(ids: Sequence[int], actor: str, reason: str) -> Cancelled:
    """Withdraw these deliveries; those that provably were not sent are cancelled at once."""
    with transaction.atomic():
        before = moves.hold(ids)
        withdrawn = evidence.withdraw(ids, actor, storable(reason))
        decided = [decide(case) for case in read(withdrawn, Ways())]
        done = carry_out(
            [d for d in decided if d.move.status == DeliveryStatus.CANCELLED], actor, leased=False
        )
        outbox.wake(withdrawn - done)
    names = dict(Delivery.objects.filter(pk__in=ids).values_list("pk", "delivery_id"))
    open_before = {row.id for row in before.values() if row.status in OPEN}
    return Cancelled(
        in_time=_sorted_names(done, names),
        too_late=_sorted_names(open_before - done, names),
        ended=_sorted_names(set(names) - open_before, names),
    )


def _sorted_names(ids: set[int], names: dict[int, UUID]) -> tuple[str, ...]:
    return tuple(str(names[row_id]) for row_id in sorted(ids))
