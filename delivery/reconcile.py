"""Reconcile: ask the outside world what it really has, and keep what it shows as evidence.

By key, then by the provider's id, then by scanning for the recognizer. The adapter says what it
saw and how completely; whether "nothing found" counts as absent is a question of time as well, and
the rules answer that (`Facts.settled_at`).
"""

import logging
import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import transaction

from delivery import hooks, questions, receipts
from delivery.channels.contract import Adapter, Finding, Query
from delivery.channels.looking import asked
from delivery.decide import Decided, carry_out, decide
from delivery.history import Case, read
from delivery.timing import boottime
from delivery.vetting import nothing_found, vetted_finding
from delivery.ways import Ways
from ledgers import evidence, moves, outbox
from ledgers.boundaries import boundary
from ledgers.canonical import storable
from ledgers.evidence import Sighting
from ledgers.models import Delivery
from ledgers.outage import is_outage
from ledgers.states import DeliveryStatus

logger = logging.getLogger(__name__)

# A search begins this much before the first attempt, in case the provider's clock is behind.
CLOCK_ALLOWANCE = timedelta(minutes=5)


@dataclass(slots=True, eq=False)
class Search:
    """One search for one delivery: run in a thread, settled by the main one."""

    case: Case
    query: Query
    adapter: Adapter
    deadline_s: float
    findings: list[Finding] = field(default_factory=list)
    ends_by: float = math.inf
    asked: int = 0

    @property
    def channel_id(self) -> int:
        return self.case.channel_id

    @property
    def overdue(self) -> bool:
        """It runs on past its deadline, as only a caller's own look-up can."""
        return boottime() > self.ends_by

    def run(self) -> None:
        """Search and keep what was seen. Never raises."""
        self.ends_by, before = boottime() + self.deadline_s, asked.count
        try:
            for said in self.adapter.look_up(self.query, self.ends_by):
                finding = vetted_finding(said, self.adapter.secret)
                self.findings.append(finding)
                if finding.verdict in {"found", "found_many"}:
                    break
        except BaseException as error:  # a stranger's SystemExit would end a thread of the pool
            logger.exception("searching for delivery %s failed", self.case.delivery_id)
            self.findings.append(nothing_found(f"the search failed: {type(error).__name__}"))
        if not self.findings:
            self.findings.append(nothing_found("the adapter had nothing to ask"))
        self.asked = asked.count - before
        boundary("searched")

    def sightings(self, seen_by: str) -> list[Sighting]:
        """What was seen, as the ledger keeps it; taken when the search began."""
        return [
            Sighting(
                delivery_id=self.case.id,
                taken_at=self.case.now,
                method=finding.method,
                verdict=finding.verdict,
                searched=storable(finding.searched),
                why=storable(finding.why),
                covered_from=finding.covered_from,
                pages=finding.pages,
                provider_message_id=storable(finding.provider_message_id),
                response=storable(finding.response),
                seen_by=seen_by,
            )
            for finding in self.findings
        ]


def search_for(decided: Decided, ways: Ways) -> Search:
    """What to look for. `taken_at` is the moment of the decision, before the search begins."""
    case, way = decided.case, ways.of(decided.case.channel_id)
    first = decided.facts.first_possible_at
    query = Query(
        delivery_id=str(case.delivery_id),
        key=case.key,
        recognizer=case.recognizer,
        destination=case.destination,
        provider_message_id=case.provider_message_id,
        since=(first or case.now) - CLOCK_ALLOWANCE,
    )
    return Search(case, query, way.adapter, way.channel.deadline_s)


def settle_searches(
    searches: Sequence[Search], actor: str, ways: Ways | None = None, *, leased: bool = True
) -> list[Decided]:
    """Keep the evidence and move the rows to where the whole history now puts them; one commit.

    Args:
        searches: finished searches.
        actor: who searched.
        ways: the channels, as far as the worker remembers them.
        leased: the worker holds the rows' leases; an operator's look does not.

    Returns:
        the decisions that followed.

    Raises:
        DatabaseError, InterfaceError: the database is not there, or takes no writes
            (`ledgers.outage`).
    """
    if not searches:
        return []
    ways = ways or Ways()
    try:
        return _settle(searches, actor, ways, leased=leased)
    except Exception as error:
        if is_outage(error):
            raise
        # What one adapter says it found must not keep the findings of the others from being kept.
        logger.exception("keeping %d searches together failed; one by one", len(searches))
    return [d for one in searches for d in _settle_alone(one, actor, ways, leased=leased)]


def _settle_alone(search: Search, actor: str, ways: Ways, *, leased: bool) -> list[Decided]:
    try:
        return _settle([search], actor, ways, leased=leased)
    except Exception as error:
        if is_outage(error):
            raise
        logger.exception("what a search for %s found cannot be kept", search.case.delivery_id)
        return []


def _settle(searches: Sequence[Search], actor: str, ways: Ways, *, leased: bool) -> list[Decided]:
    fences = {search.case.id: search.case.fence for search in searches}
    with transaction.atomic():
        # A worker waits for nobody: what somebody else holds is searched again when it is due.
        held = moves.hold(fences, skip_locked=leased)
        mine = _of_these(searches, held)
        evidence.add_sightings([s for search in mine for s in search.sightings(actor)])
        _charge(mine, ways)
        boundary("evidence-stored")
        decided = [decide(case) for case in read(held, ways)]
        own = [d for d in decided if leased and d.case.leased and d.case.fence == fences[d.case.id]]
        others = [d for d in decided if d not in own]
        done = carry_out(own, actor) | carry_out(others, actor, leased=False)
        found = [
            d.case
            for d in decided
            if d.move.status == DeliveryStatus.DELIVERED and d.case.id in done
        ]
        outbox.wake_next_parts(case.id for case in found)
        outbox.wake_generations(case.id for case in found if case.has_generations)
    boundary("reconciled")
    hooks.tell(found)
    receipts.match_answers(
        (one.channel_id, finding.provider_message_id) for one in mine for finding in one.findings
    )
    return decided


def _of_these(searches: Sequence[Search], held: Collection[int]) -> list[Search]:
    """Those whose deliveries are held, and are still who they were.

    After a restore another delivery may have been given the number of one that is forgotten.
    """
    rows = Delivery.objects.filter(pk__in=held).values_list("pk", "delivery_id")
    known = set(rows)
    return [one for one in searches if (one.case.id, one.case.delivery_id) in known]


def _charge(searches: Sequence[Search], ways: Ways) -> None:
    """What each asked besides the one question that it had room for: pages, who we are."""
    more: Counter[int] = Counter()
    for search in searches:
        more[search.channel_id] += search.asked - 1
    questions.charge(more, ways)
