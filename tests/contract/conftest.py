"""Each test has a fake of its own, and starts without connections of another one."""

from collections.abc import Iterator

import pytest

from tests.channels.conftest import no_connection_of_another_test
from tests.contract.lab import Lab

__all__ = ["no_connection_of_another_test"]


@pytest.fixture
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    made = Lab(request.param)
    with made.vendor:
        yield made
