"""The network between worker and server fails at the worst moments."""

import pytest

from tests.embedded.processes import until
from tests.ground.desk import Desk

OPENING = b"INSERT INTO ledgers_attempt"
CLOSING = b"UPDATE ledgers_attempt a"
COMMIT = b"COMMIT"


def test_a_write_ahead_whose_commit_nobody_heard_of_is_not_called(desk: Desk) -> None:
    """The attempt is on record, and the worker knows that it called nothing."""
    desk.worker()
    lost = desk.scene.proxy.lose_answer_after(OPENING, COMMIT)

    room = desk.record()
    desk.until_status(room, "delivered")

    assert lost.is_set()
    assert desk.outcomes(room) == ["not_tried", "accepted"]
    assert desk.seen(room) == (1, 1)


def test_a_settle_whose_commit_nobody_heard_of_is_not_repeated(desk: Desk) -> None:
    desk.worker()
    lost = desk.scene.proxy.lose_answer_after(CLOSING, COMMIT)

    room = desk.record()
    desk.until_status(room, "delivered")
    assert lost.wait(10)
    other = desk.record("after")
    desk.until_status(other, "delivered")

    assert desk.outcomes(room) == ["accepted"]
    assert desk.row(room).events.filter(kind="accept").count() == 1
    assert desk.seen(room) == (1, 1)


@pytest.mark.parametrize("when", ["idle", "on the wire"])
def test_a_cut_network_is_waited_for(desk: Desk, when: str) -> None:
    worker, proxy = desk.worker(), desk.scene.proxy
    room = f"room:{desk.mark}-a"
    if when == "on the wire":
        desk.scene.recipient.behave(room, "accept_and_wait")
        desk.record()
        desk.scene.recipient.wait_for("held")

    proxy.cut()
    until(lambda: worker.said("the database fails"), "the worker knows")
    if when == "on the wire":
        desk.scene.recipient.release()
    else:
        desk.record()
    proxy.heal()
    desk.until_status(room, "delivered")

    assert desk.outcomes(room) == ["accepted"]
    assert desk.seen(room) == (1, 1)
    assert worker.said("Traceback") == 0


def test_a_silent_network_that_speaks_again_loses_nothing(desk: Desk) -> None:
    """The worker's lease is over by then: another has taken over, in doubt; its answer counts."""
    desk.worker()
    room = f"room:{desk.mark}-a"
    desk.scene.recipient.behave(room, "accept_and_wait")
    desk.record()
    desk.scene.recipient.wait_for("held")

    desk.scene.proxy.stall()
    desk.scene.recipient.release()
    until(lambda: desk.scene.recipient.effects(room), "it was accepted")
    desk.scene.proxy.heal()
    desk.until_status(room, "delivered")

    assert desk.outcomes(room) == ["accepted"]
    assert desk.seen(room) == (1, 1)
