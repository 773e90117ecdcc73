"""The recipient and the channel of the delivery tests, for those of the agent's interface."""

from tests.delivery.conftest import alerts, desk

__all__ = ["alerts", "desk"]
