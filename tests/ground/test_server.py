"""The server fails, one way at a time: nothing is sent twice, nothing is lost, workers go on."""

import signal
from datetime import timedelta

import pytest

from delivery.models import Worker
from ledgers.clock import database_now
from tests.embedded.processes import until
from tests.ground import clocked
from tests.ground.desk import Desk

FAILS = "the database fails"
WORKS = "the database works again"


def test_a_server_killed_while_a_call_is_on_the_wire(desk: Desk) -> None:
    """The answer is kept until the server is back, and the submission is not repeated."""
    worker, server = desk.worker(), desk.scene.server
    room = f"room:{desk.mark}-a"
    desk.scene.recipient.behave(room, "accept_and_wait")
    desk.record()
    desk.scene.recipient.wait_for("held")

    desk.kill_server()
    desk.scene.recipient.release()
    until(lambda: worker.said(FAILS), "the worker knows")
    server.start()
    desk.until_status(room, "delivered")

    assert desk.outcomes(room) == ["accepted"]
    assert desk.seen(room) == (1, 1)
    until(lambda: worker.said(WORKS) == 1, "the worker says that it is over")


def test_one_connection_is_enough_and_none_is_waited_for(desk: Desk) -> None:
    worker, server = desk.worker(), desk.scene.server

    server.limit_connections(1)  # the one that listens must not keep it
    first = desk.record("first")
    desk.until_status(first, "delivered")
    server.limit_connections(0)
    second = desk.record("second")
    until(lambda: worker.said("too many connections"), "the worker says what is wrong")
    sent_meanwhile = desk.seen(second)
    server.limit_connections(-1)
    desk.until_status(second, "delivered")

    assert sent_meanwhile == (0, 0)
    assert worker.said("Traceback") == 0


def test_nothing_is_sent_on_a_server_that_takes_no_writes(desk: Desk) -> None:
    """Without the write-ahead there is no submission; the watch calls it what it is."""
    worker, server = desk.worker(), desk.scene.server
    server.read_only(on=True)
    until(lambda: worker.said("read-only transaction"), "the worker says what is wrong")

    room = desk.record()
    watch = desk.manage("watch")
    waiting = (desk.row(room).status, desk.seen(room), desk.outcomes(room))
    server.read_only(on=False)
    desk.until_status(room, "delivered")

    assert waiting == ("pending", (0, 0), [])
    assert watch.returncode == 2
    assert "takes no writes" in watch.stdout
    assert worker.said("Traceback") == 0
    assert worker.said(FAILS) <= 4  # each reason once
    assert desk.seen(room) == (1, 1)


def test_an_answer_that_comes_when_nothing_can_be_written_is_written_later(desk: Desk) -> None:
    worker, server = desk.worker(), desk.scene.server
    room = f"room:{desk.mark}-a"
    desk.scene.recipient.behave(room, "accept_and_wait")
    desk.record()
    desk.scene.recipient.wait_for("held")

    server.read_only(on=True)
    desk.scene.recipient.release()
    until(lambda: worker.said("1 answers are kept"), "it is kept")
    server.read_only(on=False)
    desk.until_status(room, "delivered")

    assert desk.outcomes(room) == ["accepted"]
    assert desk.seen(room) == (1, 1)


def test_a_locked_table_is_waited_for(desk: Desk) -> None:
    """The server's statement time-out lets the worker say so; the answer is kept meanwhile."""
    worker, server = desk.worker(), desk.scene.server
    room = f"room:{desk.mark}-a"
    desk.scene.recipient.behave(room, "accept_and_wait")
    desk.record()
    desk.scene.recipient.wait_for("held")

    with server.locked("ledgers_attempt"):
        desk.scene.recipient.release()
        until(lambda: worker.said("statement timeout"), "the worker says what is wrong")
    desk.until_status(room, "delivered")

    assert desk.outcomes(room) == ["accepted"]
    assert desk.seen(room) == (1, 1)


def test_the_locks_of_a_worker_frozen_in_a_transaction_are_freed(desk: Desk) -> None:
    """The server ends its idle transaction; another takes the row; its late answer still counts."""
    frozen = desk.worker("-m", "tests.ground.stopping", "attempts-closed")
    room = desk.record()
    until(lambda: desk.scene.server.backends("state = 'idle in transaction'"), "it is frozen")

    desk.worker()
    desk.until_status(room, "unknown")
    frozen.tell(signal.SIGCONT)
    desk.until_status(room, "delivered")

    assert desk.outcomes(room) == ["accepted"]
    assert desk.seen(room) == (1, 1)
    assert frozen.process is not None
    assert frozen.process.poll() is None


def test_frozen_backends_hold_up_only_their_own_worker(desk: Desk) -> None:
    server = desk.scene.server
    desk.worker()
    frozen = server.backends()
    server.tell(signal.SIGSTOP, *frozen)
    desk.worker()

    room = desk.record()
    desk.until_status(room, "delivered")
    server.tell(signal.SIGCONT, *frozen)
    other = desk.record("after")
    desk.until_status(other, "delivered")

    assert (desk.seen(room), desk.seen(other)) == ((1, 1), (1, 1))


@pytest.mark.parametrize(
    ("step", "offset_s"), [(clocked.FORWARD, clocked.HOUR_S), (clocked.BACK, -clocked.HOUR_S)]
)
def test_a_workers_clock_may_step_by_an_hour(
    desk: Desk, step: signal.Signals, offset_s: float
) -> None:
    """The database's clock decides what is due; the worker's is reported."""
    worker = desk.worker("-m", "tests.ground.clocked")
    early = desk.record("early", not_before=database_now() + timedelta(minutes=30))

    worker.tell(step)
    room = desk.record()
    desk.until_status(room, "delivered")
    beats = Worker.objects.filter(stopped_at=None)
    until(
        lambda: any(abs(one.clock_offset_s - offset_s) < 5 for one in beats.all()),
        "the offset is reported",
    )

    assert desk.row(early).status == "pending"
    assert (desk.seen(early), desk.seen(room)) == ((0, 0), (1, 1))
