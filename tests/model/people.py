"""What people may decide. Each decision keeps the gate that the product puts before it."""

from collections.abc import Iterator

from ledgers.states import OPEN, DeliveryStatus
from tests.model.ledger import MOVES, Database, apply, woken
from tests.model.world import Ledger, Provider, Row, Setup, moment


def acts(
    setup: Setup, database: Database, ledger: Ledger, provider: Provider, t: int
) -> Iterator[tuple[str, Ledger, int]]:
    """What people may decide now: (label, ledger, generations whose version is raised)."""
    for act in setup.people:
        if act in {"pause", "resume"}:
            if ledger.paused == (act == "resume"):
                yield act, ledger._replace(paused=not ledger.paused), 0
            continue
        for g, row in enumerate(ledger.rows):
            decided = DECISIONS[act](database, ledger, provider, g, row, t)
            if decided is not None:
                yield f"person: {act}", decided, 1 << g


def _cancel(d: Database, ledger: Ledger, p: Provider, g: int, row: Row, t: int) -> Ledger | None:
    del p
    if row.status not in OPEN or row.withdrawn:
        return None
    ledger = ledger.put(g, row._replace(withdrawn=True))
    row, order = ledger.rows[g], d.order(ledger, g, t)
    moved = None
    if order.status == DeliveryStatus.CANCELLED:
        moved = apply(row, order.action, order.due, t, leased=False)
    return ledger.put(g, moved or woken(row, t))


def _same_key(d: Database, ledger: Ledger, p: Provider, g: int, row: Row, t: int) -> Ledger | None:
    del p
    protects = d.facts(ledger, g, t).key_protects(moment(t))
    if row.status != DeliveryStatus.UNKNOWN or not protects:
        return None
    return ledger.put(g, woken(row._replace(decision="send_again", decided=t, asked=False), t))


def _new_generation(
    d: Database, ledger: Ledger, p: Provider, g: int, row: Row, t: int
) -> Ledger | None:
    del d, p
    if g or row.status != DeliveryStatus.UNKNOWN or len(ledger.rows) > 1:
        return None
    # Whatever the first one's own rules would still allow, no machine sends it again.
    before = row._replace(withdrawn=True)
    return ledger._replace(rows=(before, Row(decision="send_again", decided=t, due=t)))


def _try_again(d: Database, ledger: Ledger, p: Provider, g: int, row: Row, t: int) -> Ledger | None:
    del d, p
    if not row.asked or row.status != DeliveryStatus.PENDING:
        return None
    return ledger.put(g, woken(row._replace(decision="try_again", decided=t, asked=False), t))


def _leave(d: Database, ledger: Ledger, p: Provider, g: int, row: Row, t: int) -> Ledger | None:
    del d, p
    if row.status not in OPEN or row.decision == "leave":
        return None
    return ledger.put(g, woken(row._replace(decision="leave", decided=t, asked=False), t))


def _arrived(d: Database, ledger: Ledger, p: Provider, g: int, row: Row, t: int) -> Ledger | None:
    if row.status != DeliveryStatus.UNKNOWN or not p.effects[g].received:
        return None
    ledger = ledger.put(g, row._replace(seen=(*row.seen, ("said", t))))
    order = d.order(ledger, g, t)
    moved = apply(ledger.rows[g], order.action, order.due, t, leased=False)
    return ledger.put(g, moved or ledger.rows[g])


def _reissue(d: Database, ledger: Ledger, p: Provider, g: int, row: Row, t: int) -> Ledger | None:
    del d, p
    if row.status not in MOVES["reissue"].sources:
        return None
    again = row._replace(decision="try_again", decided=t, withdrawn=False)
    return ledger.put(g, apply(again, "reissue", t, t) or row)


DECISIONS = {
    "cancel": _cancel,
    "same key": _same_key,
    "new generation": _new_generation,
    "try again": _try_again,
    "leave": _leave,
    "it arrived": _arrived,
    "reissue": _reissue,
}
