"""`deliver`: for one shift, for good, and not before the database is ready."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pytest
from django.conf import settings
from django.db import OperationalError
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor

from delivery.simulator.client import Simulator
from ledgers.models import Channel
from tests.commands.shell import typed
from tests.factories import deliveries, delivery, record

PATIENCE_S = 30


@contextmanager
def worker(*words: str) -> Iterator[subprocess.Popen[str]]:
    """A resident worker in a process of its own that has said that it works."""
    process = subprocess.Popen(
        [sys.executable, "manage.py", "deliver", *words],
        cwd=settings.BASE_DIR,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_one_shift_works_what_is_due_and_ends(alerts: Channel) -> None:
    record(["room:a", "room:b"])

    shift = typed("deliver", "--once", "--json")

    assert shift.code == 0
    assert shift.json["settled"] == 2
    assert [row.status for row in deliveries()] == ["delivered", "delivered"]


def test_a_resident_worker_says_who_it_is_and_sigterm_ends_it_in_order(
    alerts: Channel, recipient: Simulator
) -> None:
    recipient.behave("room:a", "accept_and_wait")
    record(["room:a"])

    with worker("--json", "--concurrency", "3") as process:
        assert process.stdout is not None
        greeting = json.loads(process.stdout.readline())
        recipient.wait_for("held", 1)
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        assert "finishing what is on the wire" in process.stderr.readline()
        recipient.release()
        out, _ = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 0
    assert greeting["concurrency"] == 3
    assert json.loads(out) == {"worker": greeting["worker"], "claimed": 1, "settled": 1}
    assert delivery("room:a").status == "delivered"


def test_a_second_ctrl_c_ends_at_once_and_the_attempt_stays_on_record(
    alerts: Channel, recipient: Simulator
) -> None:
    recipient.behave("room:a", "accept_and_wait")
    record(["room:a"])

    with worker() as process:
        recipient.wait_for("held", 1)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE_S)

    assert process.returncode == -signal.SIGINT
    row = delivery("room:a")
    assert (row.status, row.attempt_count) == ("submitting", 1)


def test_a_worker_does_not_start_before_the_database_is_migrated(transactional_db: None) -> None:
    missing = [(Migration("0009_new", "ledgers"), False)]

    with mock.patch.object(MigrationExecutor, "migration_plan", return_value=missing):
        refused = typed("deliver")

    assert refused.code == 2
    assert "ledgers.0009_new" in refused.err
    assert "Run: manage.py migrate" in refused.err


@pytest.mark.parametrize("name", ["workers", "list_unknown", "verify_ledgers"])
def test_a_database_that_does_not_answer_is_no_traceback(transactional_db: None, name: str) -> None:
    gone = OperationalError("connection refused")

    with mock.patch("django.db.backends.utils.CursorWrapper.execute", side_effect=gone):
        failed = typed(name, "--json")

    assert failed.code == 3
    assert failed.json["error"] == "The database does not answer: connection refused"
