"""Looking at a destination on a person's behalf: read-only, bounded, and kept as evidence.

A page never looks by being opened: a browser that fetches ahead, or a monitor, would search other
people's systems. It posts. And by itself it posts only where nobody else will look, what is known
is old, and the channel has no rate that deliveries need for themselves.
"""

from datetime import datetime, timedelta

from django.core.cache import cache

from delivery.decide import decide
from delivery.history import read
from delivery.next_move import Kind as Moves
from delivery.next_move import next_move
from delivery.questions import has_room
from delivery.reconcile import Search, search_for, settle_searches
from delivery.ways import Ways
from ledgers.states import DeliveryStatus
from reviews import gates
from reviews.errors import NotAllowedError
from reviews.judged import Conduct, Refusal, Seen
from reviews.wording import clock

EVERY_S = 30  # one look per delivery in so many seconds
FAST_S = 5.0  # what a person waits for at most
LOOK_WITHIN = timedelta(days=7)


def look(row_id: int, actor: str) -> list[str]:
    """Search for one delivery now, keep what is seen, and let it decide.

    Returns:
        the verdicts.

    Raises:
        NotAllowedError: it was looked at just now, or cannot be, or its provider has been asked
            as often as it takes.
    """
    ways = Ways()
    (decided,) = [decide(case) for case in read([row_id], ways)]
    way = ways.of(decided.case.channel_id)
    refusal = _refusal(decided.case.status, decided.case.leased, way.adapter.declare().can_look_up)
    if refusal is None and not cache.add(f"looked:{row_id}", actor, EVERY_S):
        refusal = Refusal(
            "it was looked at within the last 30 seconds", "what that showed, or a little patience"
        )
    if refusal is None and not has_room(decided.case.channel_id, ways):
        cache.delete(f"looked:{row_id}")
        refusal = Refusal("its provider takes no more questions now", "a little patience")
    if refusal is not None:
        raise NotAllowedError(refusal)
    search = search_for(decided, ways)
    search.deadline_s = min(search.deadline_s, FAST_S)
    Search.run(search)
    settle_searches([search], actor, ways, leased=False)
    return [finding.verdict for finding in search.findings]


def _refusal(status: DeliveryStatus, leased: bool, can_look_up: bool) -> Refusal | None:  # noqa: FBT001
    if not can_look_up:
        return Refusal("its channel cannot be searched", "look yourself, and add what you see")
    if leased or status == DeliveryStatus.SUBMITTING:
        return Refusal("a worker holds it now", "wait for what comes of it")
    if status == DeliveryStatus.DELIVERED:
        return Refusal("it has arrived", "nothing: the question is settled")
    return None


def looks_by_itself(seen: Seen, conduct: Conduct, rate_per_s: float) -> bool:
    """Whether the page may look without being asked."""
    if seen.status != DeliveryStatus.UNKNOWN or not seen.facts.policy.can_look_up:
        return False
    if seen.leased_until or seen.waiting or seen.facts.held or rate_per_s > 0:
        # What waits for approval would be void by a new fact.
        return False
    if next_move(seen.facts, seen.now).rule == "look-up":
        return False  # a worker looks, and its schedule is made for this channel
    last = gates.last_look(seen)
    return last is None or (seen.now - last).total_seconds() > conduct.evidence_s


def machine_looks_next(seen: Seen) -> bool:
    """Whether a worker will search by itself."""
    move = next_move(seen.facts, seen.now)
    return move.rule == "look-up" and move.kind in {Moves.WAIT, Moves.LOOK_UP}


def look_refused(at: datetime, seen: Seen) -> Refusal | None:
    """Whether a search may be asked for at this moment: soon, and before the window closes."""
    if not seen.now < at <= seen.now + LOOK_WITHIN:
        return Refusal(
            f"{clock(at, seen.now)} is not within the next 7 days", "a moment within them"
        )
    until = seen.facts.key_protects_until
    if until is not None and seen.now < until <= at:
        return Refusal(
            f"the key protects only until {clock(until, seen.now)}",
            "a moment before the window closes",
        )
    return None
