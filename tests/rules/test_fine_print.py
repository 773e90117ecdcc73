"""The small print of the rules, each line at its very edge."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from delivery.facts import AttemptFact, EvidenceFact, Facts, Policy
from delivery.journal import LastCheck
from delivery.next_move import Kind, NextMove, next_move
from ledgers import states
from ledgers.states import NOT_SENT, DeliveryStatus
from tests.rules.scenarios import BASE

TICK = timedelta(microseconds=1)
POLICY = Policy(
    retry_schedule=(10,), deadline_s=10, margin_s=5, processing_s=20, key_honoured=True,
    key_scope="endpoint", window_s=3600,
)  # fmt: skip
NO_KEY = replace(POLICY, key_honoured=False, key_scope="", window_s=0)
LOOKS = replace(NO_KEY, can_look_up=True, look_up_schedule=(30, 300))


def at(seconds: float) -> datetime:
    return BASE + timedelta(seconds=seconds)


def attempt(outcome: str, opened: float = 0, *, generation: int = 1, number: int = 1,
            retry_after_s: float | None = None) -> AttemptFact:  # fmt: skip
    """Opened then, with a lease of 60 s; closed after 5 s unless it was abandoned."""
    return AttemptFact(
        generation=generation, number=number, outcome=outcome, opened_at=at(opened),
        closed_at=at(opened + 5) if outcome else None, lease_until=at(opened + 60),
        deadline_s=10, key_scope="endpoint", retry_after_s=retry_after_s,
        permanent=outcome == "refused",
    )  # fmt: skip


def facts(*attempts: AttemptFact, policy: Policy = NO_KEY, **more: Any) -> Facts:
    first = min((a.opened_at for a in attempts if a.generation == 1), default=None)
    usual = {"key_first_used_at": first, "policy": policy}
    return Facts("edge", attempts=attempts, **usual | more)


def absent(taken: datetime, covered_from: datetime | None = None, **more: int) -> EvidenceFact:
    return EvidenceFact(more.get("generation", 1), "surface_scan", "absent", taken, covered_from)


def rule(history: Facts, now: datetime) -> str:
    return next_move(history, now).rule


# Line 3: a late acceptance is never lost


@pytest.mark.parametrize("generation", [1, 2])
def test_an_acceptance_of_any_generation_finishes_the_row_whatever_came_after_it(
    generation: int,
) -> None:
    late = attempt("accepted", generation=generation)
    after = attempt("refused", 100, number=2)

    move = next_move(facts(late, after, withdrawn=True), at(500))

    assert (move.kind, move.status) == (Kind.FINISH, DeliveryStatus.DELIVERED)


def test_an_acceptance_moves_every_status_but_delivered_and_disputes_what_denied_it() -> None:
    everything_else = set(DeliveryStatus) - {DeliveryStatus.DELIVERED}

    assert set(states.ACCEPT.sources) == everything_else
    assert set(states.ACCEPT.disputes) == {DeliveryStatus.PENDING, *NOT_SENT}


# Line 7: the last check repeats what the decision depended on


def test_a_same_key_submission_carries_the_end_of_its_window() -> None:
    move = next_move(facts(attempt("ambiguous"), policy=POLICY), at(1000))

    assert (move.rule, move.before) == ("same-key", at(3600 - 15))


def test_the_earlier_of_window_and_last_moment_is_carried() -> None:
    doubt = facts(attempt("ambiguous"), policy=POLICY, not_after=at(2000))

    assert next_move(doubt, at(1000)).before == at(2000)
    assert next_move(facts(not_after=at(2000)), at(1000)).before == at(2000)
    assert next_move(facts(), at(1000)).before is None


@pytest.mark.parametrize(("now", "rule_then"), [(3585 - 1e-6, "same-key"), (3585, "blocked")])
def test_the_window_is_open_strictly_before_deadline_and_margin_reach_its_end(
    now: float, rule_then: str
) -> None:
    assert rule(facts(attempt("ambiguous"), policy=POLICY), at(now)) == rule_then


@pytest.mark.parametrize(
    ("check", "refused"),
    [
        (LastCheck(lease_limit=101), ""),
        (LastCheck(lease_limit=100), "lease"),
        (LastCheck(lease_limit=200, decision_limit=101), ""),
        (LastCheck(lease_limit=200, decision_limit=100), "moment"),
    ],
)
def test_the_last_check_refuses_at_the_very_limit(
    check: LastCheck, refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("delivery.journal.boottime", lambda: 100.0)

    assert refused in check.refuse()
    assert bool(refused) == bool(check.refuse())


# Line 8: what absence must cover, and when it counts

SETTLED = 60 + 10 + 20  # lease, deadline, processing


@pytest.mark.parametrize(("early", "rule_then"), [(timedelta(0), "absent"), (TICK, "blocked")])
def test_absence_counts_from_lease_end_plus_deadline_plus_processing_on(
    early: timedelta, rule_then: str
) -> None:
    taken = absent(at(SETTLED) - early, at(0))

    assert rule(facts(attempt("ambiguous"), evidence=(taken,)), at(500)) == rule_then


@pytest.mark.parametrize(("late", "rule_then"), [(timedelta(0), "absent"), (TICK, "blocked")])
def test_absence_covers_the_time_from_the_first_attempt_on(late: timedelta, rule_then: str) -> None:
    taken = absent(at(400), at(0) + late)

    assert rule(facts(attempt("ambiguous"), evidence=(taken,)), at(500)) == rule_then


def test_absence_covers_the_first_attempt_of_any_generation() -> None:
    first, second = attempt("not_sent", 0), attempt("ambiguous", 100, generation=2)
    row = facts(first, second, generation=2, evidence=(absent(at(400), at(50), generation=2),))

    assert rule(row, at(500)) == "blocked"
    assert rule(replace(row, evidence=(absent(at(400), at(0), generation=2),)), at(500)) == "absent"


def test_absence_holds_only_if_it_was_taken_after_the_last_attempt_has_settled() -> None:
    two = (attempt("ambiguous"), attempt("ambiguous", 200, number=2))

    assert rule(facts(*two, evidence=(absent(at(200 + SETTLED), at(0)),)), at(999)) == "absent"
    assert rule(facts(*two, evidence=(absent(at(199 + SETTLED), at(0)),)), at(999)) == "blocked"


def test_absence_after_a_restore_covers_the_time_from_the_restore_point_on() -> None:
    row = facts(rewound_at=at(1000), rewound_from=at(200))

    covered = replace(row, evidence=(absent(at(1020), at(200)),))
    partly = replace(row, evidence=(absent(at(1020), at(201)),))

    assert (rule(covered, at(2000)), rule(partly, at(2000))) == ("absent", "blocked")


# Line 11: a settle follows from the whole history


def test_what_was_not_sent_last_says_nothing_about_what_was_sent_before() -> None:
    doubt, accepted = attempt("ambiguous"), attempt("accepted")
    last = attempt("not_sent", 100, number=2)

    assert next_move(facts(doubt, last), at(500)).status == DeliveryStatus.UNKNOWN
    assert next_move(facts(accepted, last), at(500)).status == DeliveryStatus.DELIVERED


def test_a_refusal_after_a_doubt_is_no_proof_that_nothing_was_accepted() -> None:
    move = next_move(facts(attempt("ambiguous"), attempt("refused", 100, number=2)), at(500))

    assert (move.kind, move.status) == (Kind.ASK, DeliveryStatus.UNKNOWN)


# Restores


def test_a_submission_after_a_restore_does_not_make_the_window_start_anew() -> None:
    again = facts(attempt("ambiguous", 3000), policy=POLICY, rewound_at=at(2500),
                  rewound_from=at(0))  # fmt: skip

    assert rule(again, at(3584)) == "same-key"
    assert rule(again, at(3585)) == "blocked"


def test_a_restore_is_searched_for_although_the_schedule_was_used_up_before_it() -> None:
    searched = tuple(EvidenceFact(1, "key_lookup", "inconclusive", at(s)) for s in (100, 400))
    before = facts(attempt("ambiguous"), policy=LOOKS, evidence=searched)

    assert rule(before, at(5000)) == "blocked"
    assert rule(replace(before, rewound_at=at(4000)), at(5000)) == "look-up"


# People


def test_an_approval_of_the_second_generation_ends_with_its_own_doubt() -> None:
    first = attempt("ambiguous")
    row = facts(first, generation=2, decision="send_again", decided_at=at(50))
    doubted = replace(row, attempts=(first, attempt("ambiguous", 100, generation=2)))
    approved_again = replace(doubted, decided_at=at(300))

    assert rule(row, at(60)) == "approved"
    assert rule(doubted, at(500)) == "blocked"
    assert rule(approved_again, at(500)) == "blocked"


def test_leaving_it_stops_what_the_key_or_the_channel_would_still_send() -> None:
    left: dict[str, Any] = {"decision": "leave", "decided_at": at(50)}
    cleared = facts(attempt("ambiguous"), evidence=(absent(at(400), at(0)),),
                    policy=replace(NO_KEY, resend_after_absent=True), **left)  # fmt: skip

    assert _kind_and_rule(facts(attempt("ambiguous"), policy=POLICY, **left)) == ("rest", "blocked")
    assert _kind_and_rule(cleared) == ("rest", "left")
    assert _kind_and_rule(facts(attempt("not_sent"), **left)) == ("rest", "left")


def _kind_and_rule(history: Facts) -> tuple[str, str]:
    move = next_move(history, at(1000))
    return str(move.kind), move.rule


def test_one_decision_to_try_again_is_used_up_by_the_next_doubt() -> None:
    told: dict[str, Any] = {"decision": "try_again", "decided_at": at(50)}
    once = facts(attempt("ambiguous"), evidence=(absent(at(40 + SETTLED), at(0)),), **told)
    again = replace(
        once,
        attempts=(*once.attempts, attempt("ambiguous", 100, number=2)),
        evidence=(*once.evidence, absent(at(100 + SETTLED), at(0))),
    )

    assert rule(once, at(500)) == "due"
    assert rule(again, at(500)) == "absent"


def test_a_decision_to_go_on_does_not_overrule_the_pause_that_the_provider_asked_for() -> None:
    asked = attempt("deferred", retry_after_s=600)
    told = facts(asked, decision="try_again", decided_at=at(100))

    move = next_move(told, at(200))

    assert (move.rule, move.until) == ("too-early", at(605))


# Generations


def test_another_generations_attempt_on_the_wire_makes_a_row_wait_and_does_not_move_it() -> None:
    held = replace(attempt("", 480, generation=2), held=True)
    first = facts(attempt("ambiguous"), held)
    second = facts(attempt("ambiguous"), replace(held, generation=1), generation=2)

    assert _waiting(next_move(first, at(500))) == (Kind.WAIT, DeliveryStatus.UNKNOWN)
    assert _waiting(next_move(second, at(500))) == (Kind.WAIT, DeliveryStatus.PENDING)


def _waiting(move: NextMove) -> tuple[Kind, DeliveryStatus]:
    return move.kind, move.status


def test_another_generations_searches_leave_this_ones_schedule_alone() -> None:
    own = attempt("ambiguous", 100, generation=2)
    theirs = tuple(EvidenceFact(1, "key_lookup", "inconclusive", at(s)) for s in (200, 400))
    row = facts(attempt("ambiguous"), own, generation=2, policy=LOOKS, evidence=theirs)

    assert rule(row, at(500)) == "look-up"


def test_searches_due_before_one_could_settle_anything_keep_their_distance() -> None:
    looked: tuple[EvidenceFact, ...] = ()
    due = []
    for schedule in ((1, 2, 60), (200, 210, 200)):
        policy = replace(LOOKS, look_up_schedule=schedule)
        for seconds in (SETTLED, SETTLED + 1, SETTLED + 59):
            row = facts(attempt("ambiguous"), policy=policy, evidence=looked)
            due.append(next_move(row, at(50)).until)
            looked += (EvidenceFact(1, "key_lookup", "inconclusive", at(seconds)),)
        looked = ()

    assert due[:3] == [at(SETTLED), at(SETTLED + 1), at(SETTLED + 59)]
    assert due[3:] == [at(205), at(215), at(205)]  # from the end of the attempt, as it was


# Times


def test_no_wait_outlasts_the_last_moment() -> None:
    paused = facts(attempt("deferred", retry_after_s=600), not_after=at(100))
    waiting = next_move(paused, at(50))

    assert (waiting.kind, waiting.until) == (Kind.WAIT, at(100) + TICK)
    assert rule(paused, at(100) + TICK) == "expired"


@pytest.mark.parametrize("outcome", ["ambiguous", "in_flight"])
def test_the_same_key_waits_as_long_as_the_provider_asked_and_never_past_its_window(
    outcome: str,
) -> None:
    asked = facts(attempt(outcome, retry_after_s=600), policy=POLICY)
    too_long = facts(attempt(outcome, retry_after_s=7200), policy=POLICY)

    waiting = next_move(asked, at(100))

    assert (waiting.rule, waiting.until) == ("same-key", at(605))
    assert _kind_and_rule(asked) == ("submit", "same-key")
    assert next_move(too_long, at(100)).until == at(3585)
    assert rule(too_long, at(3585)) == "blocked"


@pytest.mark.parametrize("strange", [float("inf"), 1e300, -1e300])
def test_no_number_from_outside_makes_a_decision_impossible(strange: float) -> None:
    odd = replace(POLICY, processing_s=strange, retry_schedule=(strange,),
                  look_up_schedule=(strange,), can_look_up=True)  # fmt: skip
    asked = attempt("deferred", 100, number=2, retry_after_s=strange)

    moves = [
        next_move(facts(attempt(outcome), asked, policy=odd, rewound_at=rewound), at(500))
        for outcome in ("ambiguous", "not_sent")
        for rewound in (None, at(400))
    ]

    assert len(moves) == 4


@pytest.mark.parametrize("strange", [float("nan"), float("-inf"), -5.0])
def test_a_pause_that_is_no_pause_is_none(strange: float) -> None:
    move = next_move(facts(attempt("deferred", retry_after_s=strange)), at(100))

    assert move.kind == Kind.SUBMIT


@pytest.mark.parametrize("deadline_s", [3600, 1e300, float("inf")])
def test_a_call_that_may_outlast_the_window_is_never_covered_by_it(deadline_s: float) -> None:
    slow = replace(POLICY, deadline_s=deadline_s)

    assert rule(facts(attempt("ambiguous"), policy=slow), at(100)) == "blocked"


def test_a_provider_that_asks_for_ever_is_asked_again_after_a_week() -> None:
    move = next_move(facts(attempt("deferred", retry_after_s=1e300)), at(100))

    assert move.until == at(5) + timedelta(days=7)
