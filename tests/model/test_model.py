"""No interleaving of workers, people and losses sends twice or denies what was accepted."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.model.faults import FAULTS, Fault, found, told
from tests.model.search import RESIDUAL
from tests.model.setups import SETUPS
from tests.rules.untraced import untraced

ENOUGH = 1_000_000


@pytest.fixture(scope="module")
def explored() -> dict[str, Any]:
    """Every setup, explored in processes of their own: nothing slows them, and both cores work."""
    plain = {name: text for name, text in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.model", "--json"],
        env=plain, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.timeout(400)
def test_no_interleaving_breaks_an_invariant(
    explored: dict[str, Any], record_property: Callable[[str, object], None]
) -> None:
    broken = [(r["setup"], r["broken"], r["trace"]) for r in explored["setups"] if r["broken"]]

    record_property("distinct states of the model", explored["states"])
    record_property("seconds to explore the model", round(explored["seconds"]))
    assert not broken
    assert len(explored["setups"]) == len(SETUPS)
    assert explored["states"] >= ENOUGH


@pytest.mark.timeout(400)
def test_only_a_process_frozen_after_its_last_check_is_left_and_no_key_covers_it(
    explored: dict[str, Any], record_property: Callable[[str, object], None]
) -> None:
    residual = {what for r in explored["setups"] for what in r["residual"]}

    for r in explored["setups"]:
        for what, count in r["residual"].items():
            record_property(f"{what} ({r['setup']})", count)
    assert residual
    assert all(
        what.startswith(f"{RESIDUAL}frozen between last check and write") for what in residual
    )


def test_without_a_resend_there_is_no_residual_at_all(explored: dict[str, Any]) -> None:
    asks = next(r for r in explored["setups"] if r["setup"] == "no key, no look-up")

    assert asks["residual"] == {}


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
