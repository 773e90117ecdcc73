"""The named boundaries, one drill each, and a proof that a drill can fail."""

from dataclasses import replace

import pytest

from delivery.crashlab.drills import Boundary
from delivery.crashlab.laboratory import BOUNDARIES, Laboratory
from tests.crash.conftest import Noting

BY_NAME = {one.name: one for one in BOUNDARIES}


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda one: one.name)
def test_a_kill_at_this_boundary_breaks_nothing(
    boundary: Boundary, laboratory: Laboratory, noted: Noting
) -> None:
    row = noted(laboratory.run(boundary))

    assert not row.broken, row.broken


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda one: one.name)
def test_a_kill_of_a_worker_with_threads_breaks_nothing_either(
    boundary: Boundary, laboratory: Laboratory
) -> None:
    threaded = replace(laboratory, worker_task="tests.crash.tasks:shift")

    row = threaded.run(boundary)

    assert not row.broken, row.broken


@pytest.mark.unverified_ledgers
def test_a_worker_that_sends_again_without_proof_is_caught(laboratory: Laboratory) -> None:
    careless = replace(laboratory, worker_task="tests.crash.tasks:blind")

    row = careless.run(BY_NAME["accepted-not-acknowledged"])

    assert row.effects == 2
    assert any("acted on twice" in claim for claim in row.broken)
