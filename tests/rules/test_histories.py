"""Whole histories through the real rules, moves and database, in any order that comes up."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from delivery.cancel import cancel_deliveries
from delivery.decide import decide
from delivery.history import read
from delivery.recheck import Recheck
from delivery.reconcile import Search, search_for, settle_searches
from delivery.resend import successors
from delivery.settle import settle
from delivery.submit import Call
from delivery.switches import pause, resume
from delivery.ways import Ways
from ledgers import moves, rulings, verify
from ledgers.models import Channel, Delivery
from ledgers.moves import Change
from ledgers.rulings import By, Successor
from ledgers.states import NOT_SENT, DeliveryStatus
from tests.crash.clock import pass_s
from tests.delivery.waves import take
from tests.factories import make_channel, record
from tests.rules import recipient as at_provider
from tests.rules.recipient import ANSWERS, Recipient

BY = By("alice", {"reason": "decided in a test"})
PICK = st.integers(0, 9)
WORKER = st.sampled_from(["worker-1", "worker-2"])
# A moment, a pause, a lease, a settle delay, an hour.
SPANS = (1, 20, 61, 75, 3600)
LEDGERS = (
    "unsealed", "outboxitem", "event", "evidence", "attempt", "delivery", "message", "step", "run",
    "channel", "credential",
)  # fmt: skip


class Histories(RuleBasedStateMachine):
    """Two workers with calls and searches in their hands, an operator, and a recipient."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.searches: list[Search] = []
        self.answered: list[Call | Search] = []

    @initialize(window=st.sampled_from([0, 900]), looks=st.booleans(), automatic=st.booleans(),
                expires=st.booleans())  # fmt: skip
    def begin(self, window: int, looks: bool, automatic: bool, expires: bool) -> None:
        at_provider.recipient = self.recipient = Recipient(window_s=window)
        way = {"path": "tests.rules.recipient.send", "dedupe_window_s": window}
        if looks:
            way |= {"look_up_path": "tests.rules.recipient.look_up", "look_up_authoritative": True}
        self.channel = make_channel(
            settings=way, retry_schedule=[15], look_up_schedule=[30, 300] if looks else [],
            max_attempts=4, resend_after_absent="automatic" if automatic else "ask",
        )  # fmt: skip
        record(not_after=_in_seconds(1800) if expires else None)

    # Workers

    @rule(worker=WORKER)
    def claim(self, worker: str) -> None:
        for job in take(worker):
            (self.calls if isinstance(job, Call) else self.searches).append(job)  # type: ignore[arg-type]

    @rule(worker=WORKER, answer=st.sampled_from(ANSWERS), passes=st.sampled_from((0, *SPANS)))
    def work(self, worker: str, answer: str, passes: int) -> None:
        """Claim, send and keep, as most often happens, and time passes."""
        self.claim(worker)
        if self.calls:
            self.send(0, answer)
        elif self.searches:
            self.search(0)
        if self.answered:
            self.keep(0, worker)
        self.time_passes(passes)

    @precondition(lambda self: self.calls)
    @rule(which=PICK, answer=st.sampled_from(ANSWERS))
    def send(self, which: int, answer: str) -> None:
        call = self.calls.pop(which % len(self.calls))
        self.recipient.answer = answer
        call.run()
        self.answered.append(call)

    @precondition(lambda self: self.searches)
    @rule(which=PICK)
    def search(self, which: int) -> None:
        found = self.searches.pop(which % len(self.searches))
        found.run()
        self.answered.append(found)

    @precondition(lambda self: self.answered)
    @rule(which=PICK, worker=WORKER)
    def keep(self, which: int, worker: str) -> None:
        job = self.answered.pop(which % len(self.answered))
        if isinstance(job, Call):
            assert not settle([job], worker)
            assert job.outcome.outcome != "accepted" or _row(job.delivery_pk).status == "delivered"
        else:
            settle_searches([job], worker)

    @precondition(lambda self: self.calls or self.searches or self.answered)
    @rule(which=PICK)
    def crash(self, which: int) -> None:
        for held in (self.calls, self.searches, self.answered):
            if held:
                del held[which % len(held)]

    @rule(seconds=st.sampled_from(SPANS))
    def time_passes(self, seconds: int) -> None:
        pass_s(seconds)
        self.recipient.now += seconds
        for call in self.calls:
            check = call.journal._check
            limit = check.decision_limit
            call.journal._check = replace(
                check,
                lease_limit=check.lease_limit - seconds,
                decision_limit=None if limit is None else limit - seconds,
            )
        for job in (*self.searches, *self.answered):
            if isinstance(job, Search):
                job.case = replace(job.case, now=job.case.now - _span(seconds))

    # People

    @precondition(lambda self: self.recipient.received)
    @rule()
    def cancel(self) -> None:
        cancel_deliveries([row.pk for row in _rows()], "alice", "not wanted")

    @precondition(lambda self: self.calls or self.recipient.received)
    @rule()
    def pause_or_resume(self) -> None:
        channel = Channel.objects.get(pk=self.channel.pk)
        if channel.paused_at is None:
            pause(channel, "a test", "alice")
        else:
            resume(channel, channel.paused_at, "a test", "alice")

    @precondition(lambda self: self.recipient.received)
    @rule(which=PICK)
    def leave(self, which: int) -> None:
        with _held(which) as row:
            rulings.decide({row.pk: row.row_version}, "leave", BY)

    @rule(which=PICK)
    def send_again(self, which: int) -> None:
        """Under the same key while it protects, else as a generation of its own."""
        with _held(which) as row:
            if row.status != DeliveryStatus.UNKNOWN:
                return
            (case,) = read([row.pk], Ways())
            if case.facts.key_protects(case.now):
                rulings.decide({row.pk: row.row_version}, "send_again", BY, undo_s=0)
                return
            made = successors([case], Ways())[row.pk]
            assert isinstance(made, Successor)
            rulings.add_generations([made], BY, undo_s=0)

    @rule(which=PICK)
    def try_again(self, which: int) -> None:
        with _held(which) as row:
            if row.status == DeliveryStatus.PENDING and row.cause.startswith("absent"):
                rulings.decide({row.pk: row.row_version}, "try_again", BY, undo_s=0)
            elif row.status in {DeliveryStatus.FAILED, DeliveryStatus.EXPIRED}:
                moves.reissue([_reissue(row)])

    @rule(which=PICK)
    def look_without_a_lease(self, which: int) -> None:
        (case,) = read([_rows()[which % len(_rows())].pk], Ways())
        search = search_for(decide(case), Ways())
        search.run()
        settle_searches([search], "alice", leased=False)

    # What holds at every moment

    @invariant()
    def nothing_is_sent_twice_or_denied(self) -> None:
        for row in _rows():
            effects = len(self.recipient.received.get(row.idempotency_key, ()))
            assert effects <= 1, f"generation {row.generation} was sent {effects} times"
            if effects:
                assert row.status not in {DeliveryStatus.PENDING, *NOT_SENT}, row.cause
        if any(row.status == DeliveryStatus.DELIVERED for row in _rows()):
            assert self.recipient.received

    def teardown(self) -> None:
        broken = verify.broken(verify.verify())
        differences = list(Recheck().differences())
        _forget()
        assert not broken
        assert not differences


def _in_seconds(seconds: float) -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now + _span(seconds)


def _span(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


def _rows() -> list[Delivery]:
    return list(Delivery.objects.order_by("generation"))


def _row(pk: int) -> Delivery:
    return Delivery.objects.get(pk=pk)


@contextmanager
def _held(which: int) -> Iterator[Delivery]:
    rows = _rows()
    with transaction.atomic():
        pk = rows[which % len(rows)].pk
        moves.hold([pk])
        yield _row(pk)


def _reissue(row: Delivery) -> Change:
    now = _in_seconds(0)
    status = DeliveryStatus(row.status)
    return Change(row.pk, status, row.row_version, None, "decided", "a test", "alice", due_at=now)


def _forget() -> None:
    """Empty both ledgers, without their triggers, for the next history."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        for table in LEDGERS:
            cursor.execute(f"DELETE FROM ledgers_{table}")


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.django_db(transaction=True)
def test_no_history_sends_twice_or_denies_what_arrived() -> None:
    run_state_machine_as_test(
        Histories,
        settings=settings(
            max_examples=40,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
