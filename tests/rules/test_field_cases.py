"""Failures of other people's senders, as histories that the rules must judge rightly."""

from dataclasses import replace

import pytest

from delivery.facts import Policy
from delivery.next_move import Kind, next_move
from ledgers.states import DeliveryStatus
from tests.rules.test_fine_print import NO_KEY, POLICY, at, attempt, facts

SCHEDULE = replace(NO_KEY, retry_schedule=(10, 60, 600), max_attempts=3)


def test_a_permanent_refusal_is_tried_once_whatever_budget_is_left() -> None:
    move = next_move(facts(attempt("refused"), policy=SCHEDULE), at(100_000))

    assert (move.kind, move.status, move.rule) == (Kind.FINISH, DeliveryStatus.FAILED, "refused")


def test_a_retry_has_a_moment_of_its_own_and_needs_no_restart() -> None:
    move = next_move(facts(attempt("not_sent"), policy=SCHEDULE), at(6))

    assert move.until is not None
    assert at(5 + 8) <= move.until <= at(5 + 12)
    assert next_move(facts(attempt("not_sent"), policy=SCHEDULE), move.until).kind == Kind.SUBMIT


def test_a_rate_limit_drops_nothing_and_uses_up_nothing() -> None:
    limited = [attempt("deferred", 1000 * n, number=n, retry_after_s=30) for n in range(1, 21)]
    row = facts(*limited, policy=SCHEDULE)

    assert row.attempts_used == 0
    assert next_move(row, at(1_000_000)).kind == Kind.SUBMIT


def test_a_rate_limit_on_one_part_leaves_the_next_ones_waiting_and_not_lost() -> None:
    waiting = next_move(facts(earlier_part_open=True), at(100))

    assert (waiting.kind, waiting.status) == (Kind.WAIT, DeliveryStatus.PENDING)
    assert next_move(facts(), at(100)).kind == Kind.SUBMIT


def test_an_outage_shorter_than_the_life_of_a_message_drops_none_of_it() -> None:
    tries = [attempt("not_sent", 300 * n, number=n) for n in range(1, 6)]
    outage = facts(*tries, policy=replace(SCHEDULE, max_attempts=50), not_after=at(3600))

    assert next_move(outage, at(3600)).kind == Kind.SUBMIT
    assert next_move(outage, at(3600.001)).status == DeliveryStatus.EXPIRED


def test_after_the_window_the_same_key_would_be_a_new_message() -> None:
    lost = facts(attempt("ambiguous"), policy=POLICY)

    inside, outside = next_move(lost, at(3000)), next_move(lost, at(4000))

    assert (inside.kind, inside.rule) == (Kind.SUBMIT, "same-key")
    assert (outside.kind, outside.status) == (Kind.ASK, DeliveryStatus.UNKNOWN)


def test_a_window_of_unknown_length_protects_for_no_time() -> None:
    undocumented = Policy(key_honoured=True, key_scope="endpoint", window_s=0)

    move = next_move(facts(attempt("ambiguous"), policy=undocumented), at(100))

    assert (move.kind, move.rule) == (Kind.ASK, "blocked")


@pytest.mark.parametrize("conflict", ["ambiguous", "in_flight", "mismatch"])
def test_no_conflict_is_read_as_already_sent(conflict: str) -> None:
    move = next_move(facts(attempt(conflict)), at(100_000))

    assert (move.kind, move.status) == (Kind.ASK, DeliveryStatus.UNKNOWN)


def test_a_key_used_with_another_body_is_evidence_and_can_settle_nothing_more() -> None:
    move = next_move(facts(attempt("mismatch"), policy=POLICY), at(1000))

    assert (move.kind, move.status) == (Kind.ASK, DeliveryStatus.UNKNOWN)
