"""From recorded to settled through the ledger, where a real server's first reply is lost."""

from typing import Any

import pytest

from ledgers.models import Channel, Delivery, OutboxItem
from tests.crash.clock import pass_s
from tests.factories import delivery, make_channel, record, sweep

LATER_S = 240.0


def channel_to(
    monkeypatch: pytest.MonkeyPatch, adapter: str, secret: str, **settings: Any
) -> Channel:
    """The channel `alerts` to a server of the lab; it looks up a minute after a lost reply."""
    monkeypatch.setenv("TEST_SECRET_OF_CHANNEL", secret)
    return make_channel(
        adapter=adapter,
        settings={"allow_private": True, **settings},
        secret_ref="env:TEST_SECRET_OF_CHANNEL" if secret else "",
        look_up_schedule=[60],
        retry_schedule=[60],
        deadline_s=5,
        lease_s=30,
    )


def send(to: str, content: Any = "All quiet") -> Delivery:
    """Record one message, and let a worker take it."""
    record([to], content)
    sweep()
    return delivery(to)


def later(row: Delivery) -> tuple[str, list[str]]:
    """Some minutes later: the status, and the outcome of each attempt."""
    pass_s(LATER_S)
    sweep()
    assert not OutboxItem.objects.exists()  # nothing is left to a machine
    row.refresh_from_db()
    return row.status, list(row.attempts.order_by("number").values_list("outcome", flat=True))
