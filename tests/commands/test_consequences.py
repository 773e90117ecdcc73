"""The two sentences: what sending again would do, what doing nothing will."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from delivery.consequences import if_left, if_sent_again
from delivery.facts import AttemptFact, EvidenceFact, Facts, Policy

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
KEYED = Policy(key_honoured=True, key_scope="endpoint", window_s=3600)
SEARCHED = Policy(can_look_up=True, look_up_schedule=(30,))
NEW = Facts("d")


def attempt(outcome: str, **fields: object) -> AttemptFact:
    then = NOW - timedelta(minutes=10)
    made = AttemptFact(
        generation=1,
        number=1,
        outcome=outcome,
        opened_at=then,
        closed_at=then + timedelta(seconds=1) if outcome else None,
        lease_until=then + timedelta(seconds=60),
        deadline_s=10,
        key_scope="endpoint",
    )
    return replace(made, **fields)  # type: ignore[arg-type]  # named by each test


def lost(policy: Policy) -> Facts:
    """One attempt whose answer was lost."""
    first = NOW - timedelta(minutes=10)
    return Facts("d", attempts=(attempt("ambiguous"),), policy=policy, key_first_used_at=first)


FLYING = attempt("", held=True, lease_until=NOW + timedelta(seconds=30))
ABSENT = EvidenceFact(1, "key_lookup", "absent", NOW - timedelta(minutes=1))
FOUND = EvidenceFact(1, "surface_scan", "found", NOW)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (NEW, "it arrives once: nothing was accepted before."),
        (replace(NEW, attempts=(FLYING,)), "two submissions could be on the wire at once"),
        (lost(Policy()), "may have arrived already, and the provider honours no key for it"),
        (lost(KEYED), "the provider recognises the key until 12:49:45 UTC: no second effect."),
        (lost(replace(KEYED, window_s=300)), "the key no longer protects (since 11:54:45 UTC)"),
        (lost(replace(KEYED, key_scope="other")), "other scope, or another body under this key"),
        (replace(lost(Policy()), evidence=(FOUND,)), "it was accepted before, and"),
        (replace(lost(SEARCHED), evidence=(ABSENT,)), "shows that the earlier one did not arrive"),
        (replace(NEW, withdrawn=True), "it arrives once, although it was withdrawn."),
        (replace(NEW, not_after=NOW - timedelta(days=2)), "its last moment was 2026-11-29 12:00"),
        (
            replace(NEW, attempts=(attempt("refused", permanent=True),)),
            "the recipient will most likely refuse it again",
        ),
    ],
)
def test_sending_again_says_what_could_happen_at_the_destination(facts: Facts, said: str) -> None:
    assert said in if_sent_again(facts, NOW)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (NEW, "send it"),
        (replace(NEW, attempts=(attempt("refused"),)), "try again"),
        (replace(NEW, attempts=(attempt("ambiguous"),)), "send again"),
        (replace(NEW, attempts=(attempt("accepted"),)), "send again"),
    ],
)
def test_only_what_may_have_arrived_is_said_to_be_sent_again(facts: Facts, words: str) -> None:
    assert if_sent_again(facts, NOW).startswith(f"If we {words} now, ")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (NEW, "a worker sends it as soon as one is free."),
        (replace(NEW, attempts=(FLYING,)), "or it becomes unknown after 12:00:30 UTC."),
        (lost(Policy()), "it stays as it is until a person decides"),
        (
            replace(lost(Policy()), decision="leave", decided_at=NOW),
            "a person decided to leave it.",
        ),
        (lost(KEYED), "as soon as one is free with the same key, which the provider recognises"),
        (replace(lost(KEYED), held=("channel paused",)), "with the same key, which the provider"),
        (lost(SEARCHED), "a worker searches the destination now; nothing is sent before that."),
        (
            lost(replace(SEARCHED, look_up_schedule=(3600,))),
            "the destination is searched at 12:50:01 UTC; nothing is sent before that.",
        ),
        (replace(NEW, not_before=NOW + timedelta(hours=1)), "it is sent at 13:00:00 UTC."),
        (replace(NEW, held=("channel paused: audit",)), "it waits: held: channel paused: audit."),
        (replace(NEW, earlier_part_open=True), "it waits: an earlier part is not delivered."),
        (replace(NEW, withdrawn=True), "it is cancelled for good: it was withdrawn in time."),
        (replace(lost(Policy()), evidence=(FOUND,)), "it is delivered for good"),
    ],
)
def test_doing_nothing_says_what_the_rules_will_do(facts: Facts, said: str) -> None:
    assert said in if_left(facts, NOW)
