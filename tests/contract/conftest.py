"""Each test starts without connections of another one."""

from tests.channels.conftest import no_connection_of_another_test

__all__ = ["no_connection_of_another_test"]
