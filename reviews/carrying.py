"""Carrying out: what each kind of decision does to the ledger's rows.

The caller holds the rows and has judged them; what moves at this very moment drops out by itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from delivery import hooks, restoring
from delivery.cancel import cancel_deliveries
from delivery.decide import carry_out, decide
from delivery.history import read
from delivery.resend import successors
from delivery.ways import Ways
from ledgers import evidence, moves, outbox, rulings
from ledgers.canonical import storable
from ledgers.evidence import Sighting
from ledgers.models import Delivery
from ledgers.moves import Change
from ledgers.rulings import By
from ledgers.states import DeliveryStatus
from reviews.judged import Seen
from reviews.kinds import Kind
from reviews.records import Decision


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one row: done, late (a withdrawal that may have come too late) or skipped."""

    result: str
    why: str = ""
    made: int | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """A decision on its way to the rows. `undo_s`: for how long it may be taken back."""

    decision: Decision
    by: By
    rows: Mapping[int, Seen]
    now: datetime
    undo_s: float

    @property
    def versions(self) -> dict[int, int]:
        return {row_id: seen.version for row_id, seen in self.rows.items()}


Fates = dict[int, Fate]
Carrier = Callable[[Order], Fates]


def carry(order: Order) -> Fates:
    """Carry out a decision on its rows; a row without a fate was moved at this very moment."""
    fates = _CARRIERS[Kind(order.decision.kind)](order)
    return {
        row_id: fates.get(row_id, Fate("skipped", "it moved at this very moment"))
        for row_id in order.rows
    }


def _done(ids: set[int], why: str = "") -> Fates:
    return {row_id: Fate("done", why) for row_id in ids}


def _arrived(order: Order) -> Fates:
    """What somebody saw is evidence of the rows that it delivers, and of no others.

    Left on a row that was skipped it would let the next worker deliver it, after the person was
    told that nothing was decided. What they saw stays in the decision and its events.
    """
    wanted = set(order.rows)
    while wanted:
        with transaction.atomic():
            done = _deliver(order, wanted)
            if done == wanted:
                break
            transaction.set_rollback(True)
        wanted = done
    return _done(wanted, "it is delivered, on this evidence")


def _deliver(order: Order, ids: set[int]) -> set[int]:
    """Add the sightings and let the rules say what follows; the ids that it delivered."""
    evidence.add_sightings([_sighting(row_id, order) for row_id in sorted(ids)])
    decided = [decide(case) for case in read(ids, Ways())]
    done = carry_out(decided, order.by.actor, leased=False)
    outbox.wake_next_parts(done)
    outbox.wake_generations(done)
    found = [item.case for item in decided if item.case.id in done]
    transaction.on_commit(lambda: hooks.tell(found), robust=True)
    return done


def _sighting(row_id: int, order: Order) -> Sighting:
    return Sighting(
        delivery_id=row_id,
        taken_at=order.now,
        method="operator",
        verdict="found",
        searched=storable(order.decision.link),
        why=storable(order.decision.note),
        covered_from=None,
        pages=0,
        provider_message_id="",
        response="",
        seen_by=order.by.actor,
    )


def _send_again(order: Order) -> Fates:
    done = rulings.decide(order.versions, "send_again", order.by, undo_s=order.undo_s)
    return _done(done, "it is sent again when the undo is over")


def _send_otherwise(order: Order) -> Fates:
    ways = Ways()
    nexts = successors(read(order.rows, ways), ways)
    fates = {i: Fate("skipped", why) for i, why in nexts.items() if isinstance(why, str)}
    ready = [one for one in nexts.values() if not isinstance(one, str)]
    made = rulings.add_generations(ready, order.by, undo_s=order.undo_s)
    generations = dict(
        Delivery.objects.filter(pk__in=made.values()).values_list("pk", "generation")
    )
    return fates | {
        row_id: Fate("done", f"generation {generations[pk]} is sent when the undo is over", pk)
        for row_id, pk in made.items()
    }


def _release(order: Order) -> Fates:
    done = rulings.unwind(order.versions, order.by, undo_s=order.undo_s)
    return _done(done, "it goes out as it would have, when the undo is over")


def _try_again(order: Order) -> Fates:
    due_at = order.now + timedelta(seconds=order.undo_s)
    changes = [
        change(seen, order.by.actor, "decided", order.decision.reason, due_at)
        for seen in order.rows.values()
    ]
    ended = restoring.ended_before(order.rows)
    done = moves.reissue(changes)
    restoring.rewind(sorted(ended & done), order.by.actor)
    return _done(done - ended, "it is tried again when the undo is over") | _done(
        done & ended, "it is in doubt: it ended before the restore, and may have been sent since"
    )


def change(seen: Seen, actor: str, rule: str, why: str, due_at: datetime | None = None) -> Change:
    """A move of one row by a person, who needs no lease."""
    return Change(
        id=seen.id,
        status=seen.status,
        version=seen.version,
        fence=None,
        rule=rule,
        cause=f"{rule}: {why}",
        actor=actor,
        due_at=due_at,
    )


def _leave(order: Order) -> Fates:
    done = rulings.decide(order.versions, "leave", order.by)
    return _done(done, "it stays as it is, and nothing is sent")


def _look_again(order: Order) -> Fates:
    at = order.decision.look_at or order.now
    return _done(rulings.look_again(order.versions, at, order.by), "it is searched then")


def _approve_try(order: Order) -> Fates:
    done = rulings.decide(order.versions, "try_again", order.by, undo_s=order.undo_s)
    return _done(done, "it is sent when the undo is over")


def _cancel(order: Order) -> Fates:
    told = cancel_deliveries(list(order.rows), order.by.actor, order.decision.reason)
    ids = {seen.name: row_id for row_id, seen in order.rows.items()}
    late = "too late: it may have been sent; nothing more is sent"
    return {
        **_fates(told.in_time, ids, Fate("done", "cancelled in time: it was not sent")),
        **_fates(told.too_late, ids, Fate("late", late)),
        **_fates(told.ended, ids, Fate("skipped", "it had ended before")),
    }


def _fates(names: Sequence[str], ids: Mapping[str, int], fate: Fate) -> Fates:
    return {ids[name]: fate for name in names}


_CARRIERS: dict[Kind, Carrier] = {
    Kind.ARRIVED: _arrived,
    Kind.SEND_SAME_KEY: _send_again,
    Kind.SEND_AFTER_ABSENT: _send_again,
    Kind.SEND_OTHERWISE: _send_otherwise,
    Kind.RELEASE: _release,
    Kind.TRY_AGAIN: _try_again,
    Kind.LEAVE: _leave,
    Kind.DISCARD: _leave,
    Kind.LOOK_AGAIN: _look_again,
    Kind.CANCEL: _cancel,
    Kind.APPROVE_TRY: _approve_try,
    Kind.REFUSE_TRY: _cancel,
}

FINISHES = {DeliveryStatus.FAILED: moves.fail, DeliveryStatus.EXPIRED: moves.expire}
