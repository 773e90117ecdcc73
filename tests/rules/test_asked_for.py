"""A search that a person asked for, beside the channel's own schedule."""

from dataclasses import replace
from datetime import timedelta

import pytest

from delivery.facts import EvidenceFact
from delivery.next_move import Kind, next_move
from tests.rules.properties import reproduced
from tests.rules.scenarios import Scenario, build

UNKNOWN = Scenario(tries="Q", look="none")


def test_it_is_waited_for_and_then_made_once() -> None:
    facts, now = build(replace(UNKNOWN, look="used"))
    later = replace(facts, look_again_at=now + timedelta(minutes=10))
    due = now + timedelta(minutes=10)

    waiting, looking = next_move(later, now), next_move(later, due)
    seen = EvidenceFact(1, "surface_scan", "inconclusive", due)
    after = next_move(replace(later, evidence=(seen,)), due + timedelta(seconds=1))

    assert (waiting.kind, waiting.rule, waiting.until) == (Kind.WAIT, "look-up", due)
    assert looking.kind == Kind.LOOK_UP
    assert (after.kind, after.rule) == (Kind.ASK, "blocked")


def test_a_search_of_the_schedule_that_is_due_sooner_is_not_put_off() -> None:
    facts, now = build(replace(UNKNOWN, look="due"))

    assert (
        next_move(replace(facts, look_again_at=now + timedelta(hours=1)), now).kind == Kind.LOOK_UP
    )


def test_where_nothing_can_be_searched_it_changes_nothing() -> None:
    facts, now = build(UNKNOWN)

    assert next_move(replace(facts, look_again_at=now), now).kind == Kind.ASK


@pytest.mark.parametrize("scenario", [Scenario(), Scenario(tries="N"), Scenario(tries="A")])
def test_what_is_not_in_doubt_is_not_searched(scenario: Scenario) -> None:
    facts, now = build(replace(scenario, look="used"))

    assert next_move(replace(facts, look_again_at=now), now) == next_move(facts, now)


def test_the_same_key_is_used_while_it_protects_rather_than_waiting_for_a_search() -> None:
    facts, now = build(replace(UNKNOWN, look="used", key="open"))
    until = facts.key_protects_until
    assert until is not None

    move = next_move(replace(facts, look_again_at=until), now)

    assert (move.kind, move.rule) == (Kind.SUBMIT, "same-key")


def test_it_is_kept_with_the_decision_that_it_led_to() -> None:
    facts, now = build(replace(UNKNOWN, look="used"))
    later = replace(facts, look_again_at=now + timedelta(minutes=10))

    assert reproduced(later, now, next_move(later, now))
