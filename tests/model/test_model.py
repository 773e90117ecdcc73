"""No interleaving of workers, people and losses sends twice or denies what was accepted."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.model.faults import FAULTS, Fault, found, told
from tests.model.search import RESIDUAL
from tests.model.setups import SETUPS
from tests.rules.untraced import untraced

ENOUGH = 1_000_000
FROZEN = f"{RESIDUAL}frozen between last check and write, "


# One test and not three: each process of a parallel run would explore everything for itself.
@pytest.mark.slow
@pytest.mark.timeout(500)
def test_no_interleaving_breaks_anything_but_what_no_sender_can_exclude(
    record_property: Callable[[str, object], None],
) -> None:
    explored = explore_all()

    broken = [(r["setup"], r["broken"], r["trace"]) for r in explored["setups"] if r["broken"]]
    residual = {r["setup"]: r["residual"] for r in explored["setups"]}
    record_property("distinct states of the model", explored["states"])
    record_property("seconds to explore the model", round(explored["seconds"]))
    for kind, count in by_kind(residual.values()).items():
        record_property(kind, count)
    assert not broken
    assert set(residual) == {setup.name for setup in SETUPS}
    assert explored["states"] >= ENOUGH
    assert all(kind.startswith(FROZEN) for kind in by_kind(residual.values()))
    assert residual["no key, no look-up"] == {}, "where nothing is sent again nothing is left"


def explore_all() -> dict[str, Any]:
    """Every setup, in processes of their own: nothing slows them, and both cores work."""
    plain = {name: text for name, text in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.model", "--json"],
        env=plain, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def by_kind(residuals: Iterable[dict[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for residual in residuals:
        total.update(residual)
    return total


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_a_broken_protocol_is_found_with_its_shortest_trace(
    fault: Fault, capsys: pytest.CaptureFixture[str]
) -> None:
    with untraced():
        report = found(fault)

    with capsys.disabled():
        print(f"\n{told(fault, report)}")  # noqa: T201
    assert report.broken == fault.broken
    assert report.trace
