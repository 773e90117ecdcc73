"""Each test starts without connections of another one."""

from collections.abc import Iterator

import pytest

from delivery.channels.connections import kept


@pytest.fixture(autouse=True)
def no_connection_of_another_test() -> Iterator[None]:
    kept.reset()
    yield
    kept.reset()
