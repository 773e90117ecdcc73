"""A sender that ends its process: three workers fall to it and no more; other rows go out."""

import multiprocessing
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import Settings

from delivery.worker import Worker
from ledgers.models import Channel
from tests.delivery.senders import Desk
from tests.factories import SENDER, delivery, make_channel, make_due, record, sweep

pytestmark = pytest.mark.django_db(transaction=True)
DEADLY = "tests.channels.deadly_sender.send"


def work() -> None:
    Worker("shift").run_shift(30)


def shift_of_its_own() -> int | None:
    """A worker in a process of its own, as often as a supervisor starts one; its exit code."""
    connection.close()
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join(60)
    make_due()
    return process.exitcode


def test_three_workers_end_and_then_its_channel_is_held(
    desk: Desk, settings: Settings, tmp_path: Path
) -> None:
    settings.COUNTERFOIL_DATA = tmp_path
    make_channel("alerts", settings={"path": DEADLY}, concurrency=1, max_attempts=8)
    make_channel("good", settings={"path": SENDER})
    to = [f"tg:{number}" for number in range(5)]
    record(to)

    codes = [shift_of_its_own() for _ in range(3)]
    record(["tg:good"], run_id="run-2", channel="good")
    sweep()

    standing = sorted((row.status, row.cause) for row in (delivery(one) for one in to))
    assert codes == [9, 9, 9]
    assert [status for status, _ in standing] == ["pending"] * 2 + ["unknown"] * 3
    assert f"{DEADLY} was running when 3 processes on this host ended" in standing[0][1]
    assert delivery("tg:good", "run-2").status == "delivered"
    assert Channel.objects.get(slug="alerts").paused_at is None
