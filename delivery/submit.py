"""Submit: render, write the attempt ahead, then call the channel exactly once.

What leaves this process is what was written ahead: one attempt row, one submission. The call runs
in a thread of the worker's pool, outside any transaction and without a database connection.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from django.db import connection, transaction

from delivery import credentials
from delivery.authority import allowed_by, frozen_authority
from delivery.breaker import Route, breaker
from delivery.channels.contract import Adapter, Envelope, Rendered
from delivery.contents import Content
from delivery.decide import Decided, hold_back
from delivery.errors import HeldBackError, OpenTransactionError
from delivery.journal import CallJournal, LastCheck
from delivery.outcomes import (
    Accepted,
    Ambiguous,
    Deferred,
    InFlight,
    NotSent,
    Outcome,
    Refused,
    Unauthorised,
)
from delivery.timing import boottime
from delivery.vetting import vetted_outcome
from delivery.ways import Ways
from ledgers import moves
from ledgers.boundaries import boundary
from ledgers.canonical import sha256, storable
from ledgers.evidence import Closing
from ledgers.moves import Opened, Opening
from ledgers.outbox import Claimed

logger = logging.getLogger(__name__)

RESENT_MARKER = "sent again by a person's decision; an earlier copy may have arrived"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who works: one process start. `build` tells which code it runs."""

    name: str
    host: str
    build: str


class Guard(Protocol):
    """What a wave must know of the database before anything of it leaves (`delivery.origin`)."""

    def count(self) -> None:
        """Within the write-ahead's transaction: it is the database that was known, or all fails."""

    def keep(self) -> None:
        """After its commit and before the first byte: it stands outside the database, too."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A decided submission with its bytes. Nothing is on record yet."""

    decided: Decided
    rendered: Rendered
    adapter: Adapter
    route: Route


@dataclass(slots=True, eq=False)
class Call:
    """An attempt on record whose submission may now happen, once."""

    delivery_pk: int
    route: Route
    fence: int
    attempt_id: int
    key: str
    rendered: Rendered
    adapter: Adapter
    journal: CallJournal
    fingerprint: str
    outcome: Outcome = field(default=Ambiguous("the call has not ended"))

    @property
    def channel_id(self) -> int:
        return self.route[0]

    @property
    def overdue(self) -> bool:
        """It runs on past its deadline, as only a caller's own sender can."""
        return boottime() > self.journal.deadline

    def run(self) -> None:
        """Put it on the wire and keep the outcome. Raises nothing but what ends the process."""
        try:
            self.outcome = _submit(self)
        finally:
            breaker.ended(self.route, self.outcome.outcome)
            for refusal in self.refusals():
                credentials.sign.put_up(refusal)
        boundary("accepted" if isinstance(self.outcome, Accepted) else "answered")

    def refusals(self) -> list[credentials.Refusal]:
        """What the answer says about the credential, if anything."""
        said = self.outcome
        if not isinstance(said, Unauthorised):
            return []
        return [credentials.refusal_of(said, self.route, self.fingerprint)]

    @property
    def reported_as(self) -> tuple[int, str]:
        """Channel and name under which the provider may have reported it; empty where it cannot."""
        said = self.outcome
        name = said.provider_message_id if isinstance(said, Accepted) else ""
        reports = bool(name) and self.adapter.declare().receipts != "none"
        return self.channel_id, storable(name) if reports else ""

    def closing(self) -> Closing:
        """The attempt's end, as the ledger keeps it."""
        outcome, journal = self.outcome, self.journal
        return Closing(
            attempt_id=self.attempt_id,
            key=self.key,
            fence=self.fence,
            outcome=outcome.outcome,
            phase=journal.phase,
            bytes_written=journal.bytes_written,
            permanent=isinstance(outcome, Refused) and outcome.permanent,
            replayed=isinstance(outcome, Accepted) and outcome.replayed,
            retry_after_s=(
                outcome.retry_after_s
                if isinstance(outcome, Deferred | InFlight | Ambiguous)
                else None
            ),
            provider_message_id=(
                storable(outcome.provider_message_id) if isinstance(outcome, Accepted) else ""
            ),
            response=storable(outcome.response),
            error="" if isinstance(outcome, Accepted) else storable(outcome.why),
        )


def render(decided: Decided, contents: Mapping[int, Content], ways: Ways) -> Ready | Decided:
    """The bytes of one submission, or the decision that takes its place.

    A destination outside the credential's rules, content that no longer matches its hash, or a
    renderer that has changed stops it here, before anything is written or sent.
    """
    case, way = decided.case, ways.of(decided.case.channel_id)
    content = contents[case.message_id]
    if not content.parts:
        return hold_back(decided, held=content.changed, unreadable=content.unreadable)
    rules = way.channel.credential.destination_rules
    if allowed_by(case.destination, rules) is None:
        return hold_back(decided, held="destination outside the credential's rules")
    envelope = Envelope(
        content=content.parts[case.part - 1],
        destination=case.destination,
        part=case.part,
        parts=len(content.parts),
        recognizer=case.recognizer,
        marker=RESENT_MARKER if case.generation > 1 else "",
        key=case.key,
    )
    try:
        rendered = way.adapter.render(envelope)
    except Exception as error:
        # One message that cannot be rendered must not stop the others.
        logger.exception("rendering delivery %s failed", case.delivery_id)
        return hold_back(decided, held=f"the renderer failed: {type(error).__name__}")
    if sha256(rendered.body) != case.body_hash:
        return hold_back(decided, held="the renderer changed since this was recorded")
    route = (case.channel_id, way.adapter.route(case.destination))
    return Ready(decided, rendered, way.adapter, route)


def admit(ready: Ready) -> Ready | Decided:
    """The same, now under way for the breaker, or held because its route does not answer."""
    if why := breaker.admit(ready.route):
        return hold_back(ready.decided, held=why)
    return ready


@contextmanager
def admitted(ready: Iterable[Ready]) -> Iterator[None]:
    """Until the write-ahead: what was admitted and comes to no call is not under way any more."""
    try:
        yield
    except BaseException:
        for item in ready:
            breaker.ended(item.route, "not_tried")
        raise


def write_ahead(
    ready: Sequence[Ready],
    leases: Mapping[int, Claimed],
    mark: float,
    ways: Ways,
    who: Identity,
    guard: Guard | None = None,
) -> list[Call]:
    """Commit one attempt row per submission; only what comes back may be sent.

    Args:
        ready: rendered submissions of rows that this worker has claimed.
        leases: the claims, by delivery id.
        mark: `boottime()` taken before the claim was sent.
        ways: the channels of this wave.
        who: the worker.
        guard: what it knows of the database; None where nothing real is sent.

    Raises:
        DatabaseChangedError: it is not the one that the worker knew; nothing is on record.
    """
    with transaction.atomic():
        held = moves.hold((item.decided.case.id for item in ready), skip_locked=True)
        mine = [item for item in ready if item.decided.case.id in held]
        opened = moves.begin([_opening(item, ways, who) for item in mine])
        if guard:
            guard.count()
    boundary("written-ahead")
    if guard:
        guard.keep()
    calls = []
    for item in ready:
        attempt = opened.get(item.decided.case.id)
        if attempt is None:
            # A fact arrived or the lease ended: it comes round again.
            breaker.ended(item.route, "not_tried")
        else:
            calls.append(_call(item, attempt, leases[item.decided.case.id], mark, ways))
    return calls


def _call(item: Ready, attempt: Opened, claimed: Claimed, mark: float, ways: Ways) -> Call:
    case, policy = item.decided.case, item.decided.facts.policy
    return Call(
        delivery_pk=case.id,
        route=item.route,
        fence=attempt.fence,
        attempt_id=attempt.attempt_id,
        key=case.key,
        rendered=item.rendered,
        adapter=item.adapter,
        journal=CallJournal(policy.deadline_s, _last_check(item, claimed, mark, ways)),
        fingerprint=ways.of(case.channel_id).fingerprint,
    )


def _opening(item: Ready, ways: Ways, who: Identity) -> Opening:
    case, way = item.decided.case, ways.of(item.decided.case.channel_id)
    rule = allowed_by(case.destination, way.channel.credential.destination_rules)
    return Opening(
        change=item.decided.change(who.name, due_at=None, fence=case.fence),
        worker=who.name,
        host=who.host,
        build=who.build,
        key_scope=item.decided.facts.policy.key_scope,
        authority=frozen_authority(way.channel, way.fingerprint, rule),
        deadline_s=way.channel.deadline_s,
    )


def _last_check(item: Ready, claimed: Claimed, mark: float, ways: Ways) -> LastCheck:
    """The limits of the decision on the clock that counts suspension.

    `mark` was read before the claim was sent and so is no later than the claim's `now`: every
    limit computed from it is on the safe side.
    """
    policy, before = item.decided.facts.policy, item.decided.move.before
    lease_s = (claimed.lease_until - claimed.now).total_seconds()
    return LastCheck(
        lease_limit=mark + lease_s - policy.deadline_s - policy.margin_s,
        decision_limit=None if before is None else mark + (before - claimed.now).total_seconds(),
    )


def _submit(call: Call) -> Outcome:
    try:
        if why := credentials.sign.against(*call.route, call.fingerprint):
            return NotSent(why, tried=False)
        call.journal.look()
        said = call.adapter.submit(call.rendered, call.key, call.journal)
        return vetted_outcome(said, call.adapter.secret)
    except HeldBackError as error:
        return NotSent(str(error), tried=False)
    except Exception as error:
        # An adapter's bug: nothing is known about how far it got.
        logger.exception("the adapter failed on attempt %s", call.attempt_id)
        return Ambiguous(f"the adapter failed: {type(error).__name__}")


def refuse_inside_transaction() -> None:
    """Sending inside a transaction is refused: a roll-back would forget what was sent.

    Raises:
        OpenTransactionError: before any byte leaves.
    """
    if connection.in_atomic_block:
        raise OpenTransactionError(
            "refusing to send inside a transaction: a roll-back would forget what was sent."
            " Record inside it, and let a worker send after the commit."
        )
