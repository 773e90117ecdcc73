"""Every combination of facts, judged by every property."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice

import pytest

from delivery.next_move import RULES, next_move
from tests.rules.properties import judge, reproduced
from tests.rules.scenarios import Scenario, build, circumstances, histories
from tests.rules.untraced import untraced

SLICES = 6
Product = Callable[[int, int], Iterator[Scenario]]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("slice_", range(SLICES))
@pytest.mark.parametrize(("product", "at_least"), [(circumstances, 50_000), (histories, 25_000)])
def test_every_combination_of_facts_keeps_every_property(
    product: Product,
    at_least: int,
    slice_: int,
    record_property: Callable[[str, object], None],
) -> None:
    with untraced():
        broken, count = _judged(product(slice_, SLICES))

    record_property("combinations of facts", count)
    assert not broken, f"{sum(broken.values())} of {count}: {broken.most_common(5)}"
    assert count >= at_least


def _judged(scenarios: Iterator[Scenario]) -> tuple[Counter[str], int]:
    broken: Counter[str] = Counter()
    count = 0
    for scenario in scenarios:
        count += 1
        if sentence := judge(scenario):
            broken[f"{sentence}: {scenario}"] += 1
    return broken, count


def test_an_answer_depends_on_nothing_but_its_stored_inputs() -> None:
    some = [*islice(circumstances(), 0, None, 211), *islice(histories(), 0, None, 97)]

    with untraced():
        wrong = [s for s in some if not _reproduced(s)]

    assert not wrong


def _reproduced(scenario: Scenario) -> bool:
    facts, now = build(scenario)
    return reproduced(facts, now, next_move(facts, now))


def test_every_rule_decides_somewhere_in_the_product() -> None:
    names = {rule.__name__.replace("_", "-") for rule in RULES} | {"due"}

    with untraced():
        seen = {next_move(*build(s)).rule for s in islice(circumstances(), 0, None, 7)}

    assert seen == names
