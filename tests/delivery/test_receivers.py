"""Receivers of `delivered` may be slow, hang or change the database: deliveries go on."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from delivery import hooks
from ledgers.models import Channel, Event
from tests.delivery.senders import Desk
from tests.embedded.processes import until
from tests.factories import deliveries, record, sweep

pytestmark = pytest.mark.django_db(transaction=True)
Receiver = Callable[..., None]


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Receiver], None]]:
    """Connect a receiver for this test, told by a thread of its own."""
    monkeypatch.setattr(hooks, "PATIENCE_S", 0.2)
    monkeypatch.setattr(hooks, "_teller", hooks._Teller())
    connected: list[Receiver] = []

    def connect(receiver: Receiver) -> None:
        hooks.delivered.connect(receiver)
        connected.append(receiver)

    yield connect
    for receiver in connected:
        hooks.delivered.disconnect(receiver)


def test_a_receiver_that_hangs_holds_up_no_delivery_and_its_place_is_said(
    alerts: Channel,
    desk: Desk,
    connect: Callable[[Receiver], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    go, told = threading.Event(), list[str]()

    def hang_here(destination: str, **_: Any) -> None:
        go.wait(60)
        told.append(destination)

    connect(hang_here)
    record([f"tg:{number}" for number in range(5)])
    sweep()
    record(["tg:later"], run_id="run-2")
    sweep()
    told_meanwhile = len(told)
    go.set()
    until(lambda: len(told) == 6, "all are told in the end")

    said = [one.getMessage() for one in caplog.records if "has not returned" in one.getMessage()]
    assert told_meanwhile == 0
    assert {row.status for row in [*deliveries(), *deliveries("run-2")]} == {"delivered"}
    assert len(said) == 1
    assert "hang_here" in said[0]


def test_a_receiver_has_a_connection_of_its_own_and_leaves_none_open(
    alerts: Channel, desk: Desk, connect: Callable[[Receiver], None]
) -> None:
    seen: list[Any] = []

    def look(pk: int, **_: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT status, pg_backend_pid() FROM ledgers_delivery WHERE id = %s", [pk]
            )
            seen.append(cursor.fetchone())

    connect(look)
    record()
    sweep()

    ((status, backend),) = seen
    with connection.cursor() as cursor:
        gone = "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = %s)"
        cursor.execute("SELECT pg_backend_pid()")
        mine = cursor.fetchone()[0]

        def is_gone() -> bool:
            cursor.execute(gone, [backend])
            return bool(cursor.fetchone()[0])

        until(is_gone, "its connection is closed")
    assert (status, backend != mine) == ("delivered", True)


def test_receivers_that_never_catch_up_fill_no_memory(
    alerts: Channel,
    desk: Desk,
    connect: Callable[[Receiver], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(hooks, "MOST_WAITING", 3)
    go = threading.Event()

    def hang(**_: Any) -> None:
        go.wait(60)

    connect(hang)
    for number in range(4):
        record([f"tg:{n}" for n in range(5)], run_id=f"run-{number}")
        sweep()
    waiting = hooks._teller._cases.qsize()
    go.set()

    assert waiting <= 3 + 5
    assert "are not told" in caplog.text
    assert not Event.objects.filter(kind="hook_failed").exists()
