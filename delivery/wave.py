"""One wave: what was claimed together is decided, written ahead and handed out together."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from django.db import transaction

from delivery.contents import read_contents
from delivery.decide import Decided, carry_out, decide
from delivery.history import read
from delivery.next_move import HOLD_RECHECK_S, Kind
from delivery.questions import within_budget
from delivery.reconcile import Search, search_for
from delivery.submit import (
    Call,
    Guard,
    Identity,
    Ready,
    admit,
    admitted,
    refuse_inside_transaction,
    render,
    write_ahead,
)
from delivery.timing import after
from delivery.ways import Ways
from ledgers import moves, outbox
from ledgers.boundaries import boundary
from ledgers.moves import Change
from ledgers.outage import is_outage
from ledgers.outbox import Claimed

logger = logging.getLogger(__name__)

Jobs = list[Call | Search]


def open_wave(
    claimed: Iterable[Claimed],
    mark: float,
    who: Identity,
    ways: Ways | None = None,
    guard: Guard | None = None,
) -> Jobs:
    """Decide about claimed deliveries and prepare every call that follows from it.

    Together, or row by row if one of them cannot be worked with: that one is held, visibly.

    Args:
        claimed: leases just taken.
        mark: `boottime()` read before the claim was sent.
        who: the worker.
        ways: the channels, as far as the worker remembers them.
        guard: what the worker knows of the database.

    Returns:
        calls whose attempts are on record and searches, ready for the pool. Whatever needs no
        network has been carried out.

    Raises:
        delivery.errors.OpenTransactionError: if the caller has a transaction open.
        DatabaseError, InterfaceError: the database is not there, takes no writes
            (`ledgers.outage`), or is not the one that the worker knew; nothing is to be called.
    """
    refuse_inside_transaction()
    leases = {item.delivery_id: item for item in claimed}
    boundary("claimed")
    ways = ways or Ways()
    try:
        return _open(leases, mark, who, ways, guard)
    except Exception as error:
        if is_outage(error):
            raise
        # One bad row must not keep the others waiting until their leases are over.
        logger.exception("opening %d deliveries together failed; opening one by one", len(leases))
    return _open_one_by_one(leases, mark, who, ways, guard)


def _open_one_by_one(
    leases: Mapping[int, Claimed], mark: float, who: Identity, ways: Ways, guard: Guard | None
) -> Jobs:
    """Never raises: what is on record already must be called, whatever becomes of the rest."""
    jobs: Jobs = []
    for row_id, lease in leases.items():
        try:
            jobs += _open({row_id: lease}, mark, who, ways, guard)
        except Exception as error:
            if is_outage(error):
                logger.exception("the database is away; the rest of the wave waits for its leases")
                break
            logger.exception("delivery row %d cannot be worked with; it is held", row_id)
            _set_aside(lease, f"held: it cannot be worked with: {type(error).__name__}", who)
    return jobs


def _set_aside(lease: Claimed, cause: str, who: Identity) -> None:
    """Hold a row that no decision can be made about, where people see it. It is tried again."""
    row_id = lease.delivery_id
    try:
        with transaction.atomic():
            for row in moves.hold([row_id], skip_locked=True).values():
                change = Change(
                    row_id, row.status, row.version, lease.fence, "held", cause, who.name,
                    due_at=after(lease.now, HOLD_RECHECK_S),
                )  # fmt: skip
                outbox.postpone([change])
    except Exception:
        logger.exception("delivery row %d could not be held; its lease runs out", row_id)


def _open(
    leases: Mapping[int, Claimed], mark: float, who: Identity, ways: Ways, guard: Guard | None
) -> Jobs:
    cases = read(leases, ways)
    decided = [decide(case) for case in cases if case.fence == leases[case.id].fence]
    now, later = _split(within_budget(decided, ways))
    rendered = _render(now, ways)
    later += [item for item in rendered if isinstance(item, Decided)]
    starting = [item for item in later if _can_start(item, Kind.LOOK_UP)]
    later = [item for item in later if item not in starting]
    searches = [search_for(item, ways) for item in starting]
    tried = [admit(item) for item in rendered if isinstance(item, Ready)]
    ready = [item for item in tried if isinstance(item, Ready)]
    later += [item for item in tried if isinstance(item, Decided)]
    with admitted(ready):
        _carry_out(later, leases, who, ways)
        calls = write_ahead(ready, leases, mark, ways, who, guard) if ready else []
    # From here on nothing may fail: an attempt that is on record and not called is in doubt.
    _hand_back(leases, ready, calls)
    return [*calls, *searches]


def _can_start(item: Decided, kind: Kind) -> bool:
    """Whether its call may start now. A row found in flight is first put where it belongs."""
    return item.move.kind == kind and item.move.status == item.case.status


def _split(decided: Iterable[Decided]) -> tuple[list[Decided], list[Decided]]:
    now: list[Decided] = []
    later: list[Decided] = []
    for item in decided:
        (now if _can_start(item, Kind.SUBMIT) else later).append(item)
    return now, later


def _render(now: list[Decided], ways: Ways) -> list[Ready | Decided]:
    if not now:
        return []
    contents = read_contents((item.case.message_id for item in now), ways)
    return [render(item, contents, ways) for item in now]


def _carry_out(
    decided: list[Decided], leases: Mapping[int, Claimed], who: Identity, ways: Ways
) -> None:
    if not decided:
        return
    with transaction.atomic():
        held = moves.hold((item.case.id for item in decided), skip_locked=True)
        mine = [item for item in decided if item.case.id in held]
        done = carry_out(mine, who.name, turns=dict(_turns(mine, ways)))
    missed = {item.case.id for item in decided} - done
    outbox.release({row_id: leases[row_id].fence for row_id in missed})


def _turns(decided: Iterable[Decided], ways: Ways) -> Iterator[tuple[int, datetime]]:
    """When what is held is looked at again: many rows take turns."""
    for item in decided:
        if item.move.rule == "held" and item.move.until is not None:
            turn = ways.rechecks.turn(item.case.channel_id, item.move.until, item.facts.not_after)
            yield item.case.id, turn


def _hand_back(leases: Mapping[int, Claimed], ready: list[Ready], calls: list[Call]) -> None:
    """What fell out between decision and write-ahead is looked at again at once."""
    missed = {item.decided.case.id for item in ready} - {call.delivery_pk for call in calls}
    try:
        outbox.release({row_id: leases[row_id].fence for row_id in missed})
    except Exception:
        logger.exception("%d leases could not be given back; they run out", len(missed))
