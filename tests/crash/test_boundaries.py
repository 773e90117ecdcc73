"""The named boundaries, one drill each."""

import pytest

from delivery.crashlab.drills import CLASSICAL, Boundary
from delivery.crashlab.laboratory import Laboratory
from tests.crash.conftest import Noting


@pytest.mark.parametrize("boundary", CLASSICAL, ids=lambda one: one.name)
def test_a_kill_at_this_boundary_breaks_nothing(
    boundary: Boundary, laboratory: Laboratory, noted: Noting
) -> None:
    row = noted(laboratory.run(boundary))

    assert not row.broken, row.broken
