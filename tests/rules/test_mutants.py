"""Every deliberate breakage of the rules is noticed, by the property that is meant to."""

from collections.abc import Sequence
from functools import cache
from itertools import chain, islice
from random import Random

import pytest

from tests.rules.mutants import MUTANTS, Mutant
from tests.rules.properties import PROPERTIES, broken
from tests.rules.scenarios import Scenario, circumstances, histories
from tests.rules.untraced import untraced


@cache
def sample() -> Sequence[Scenario]:
    """The plain part of the products, shuffled so that what notices a mutant comes soon."""
    some = [*filter(_plain, circumstances()), *islice(histories(), 0, None, 19)]
    Random(7).shuffle(some)
    return some


def _plain(s: Scenario) -> bool:
    """At most two things stop it, or one makes it wait."""
    stops = sum((s.withdrawn, s.expired, s.unreadable, s.budget == 1))
    waits = sum((s.held, s.earlier_part, s.not_before, not s.pause_over))
    return stops + waits <= 1 or (stops == 2 and waits == 0)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_a_broken_rule_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant.patch(monkeypatch)

    with untraced():
        noticed = any(mutant.noticed_by in broken(s) for s in sample())

    assert noticed, f"no combination of facts breaks: {mutant.noticed_by}"


def test_the_unbroken_rules_break_nothing_in_the_sample() -> None:
    with untraced():
        assert not list(chain.from_iterable(map(broken, sample()[:5000])))


def test_every_property_notices_some_mutant() -> None:
    assert {m.noticed_by for m in MUTANTS} == set(PROPERTIES)


def test_there_are_mutants_enough() -> None:
    names = [m.name for m in MUTANTS]

    assert len(set(names)) == len(names) >= 25
