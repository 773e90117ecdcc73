"""The recipient accepted, and then the local record was lost or could not be written."""

import json
from collections.abc import Callable

import pytest
from django.core.management import call_command
from django.db import transaction

from delivery.crashlab.laboratory import Laboratory
from delivery.crashlab.scene import Scene
from delivery.errors import OpenTransactionError
from delivery.simulator.client import Simulator
from delivery.worker import Worker
from ledgers.models import Attempt, Event, OutboxItem
from tests.crash import clock

HOUR, DAY = 3_600, 86_400
Shift = Callable[..., int]


@pytest.fixture
def scene(laboratory: Laboratory) -> Scene:
    """One recorded destination; the provider honours no key and cannot be asked."""
    scene = laboratory.scene()
    scene.agent().answer()
    return scene


@pytest.fixture
def shift(scene: Scene) -> Shift:
    """A real worker in a process of its own, until nothing is due."""
    return lambda **more: scene.parent.fork("tests.crash.tasks:shift", **more).answer()


def test_an_acceptance_whose_answer_died_with_its_worker_is_unknown_for_ever(
    scene: Scene, shift: Shift, recipient: Simulator, capsys: pytest.CaptureFixture[str]
) -> None:
    worker = scene.parent.fork("tests.crash.tasks:shift", armed={"at": "accepted", "do": "kill"})
    assert worker.wait_killed() == "accepted"

    for later in (300, HOUR - 300, 7 * DAY - HOUR):
        clock.pass_s(later)
        shift()
        assert scene.statuses == {"unknown": 1}

    assert Attempt.objects.count() == 1
    assert recipient.submissions() == recipient.effects() == 1
    with pytest.raises(SystemExit):
        call_command("list_unknown", "--json")
    (shown,) = json.loads(capsys.readouterr().out)["unknown"]
    assert shown["delivery_id"] == str(scene.deliveries[0].delivery_id)
    assert shown["age_s"] == pytest.approx(7 * DAY - 300, abs=60)


def test_an_answer_that_cannot_be_written_is_written_later_and_never_sent_again(
    scene: Scene, recipient: Simulator
) -> None:
    worker = scene.parent.fork("tests.crash.tasks:unwritable", times=5)
    assert worker.wait_stopped() == "write-failed"
    assert scene.statuses == {"submitting": 1}
    worker.resume()

    assert worker.answer() == 1

    assert scene.statuses == {"delivered": 1}
    assert Attempt.objects.count() == recipient.submissions() == 1


def test_an_answer_that_never_could_be_written_is_logged_and_becomes_unknown(
    scene: Scene, shift: Shift, recipient: Simulator
) -> None:
    worker = scene.parent.fork("tests.crash.tasks:unwritable", times=10**6, patience_s=0.3)
    worker.wait_stopped()
    worker.resume()
    worker.wait()
    scene.outlive_leases()
    shift()

    assert scene.statuses == {"unknown": 1}
    assert recipient.submissions() == recipient.effects() == 1
    said = (
        f"attempt {Attempt.objects.get().pk} of delivery {scene.deliveries[0].pk} ended as accepted"
    )
    assert said in worker.log
    assert recipient.last_submissions()[0]["effect"] in worker.log


def test_an_answer_in_hand_when_the_machine_slept_past_its_deadline_is_written_on_waking(
    scene: Scene, shift: Shift, recipient: Simulator
) -> None:
    armed = {"at": "accepted", "do": "stop"}
    sleeper = scene.parent.fork("tests.crash.tasks:serial", armed=armed)
    sleeper.wait_stopped()
    scene.outlive_leases()
    shift()
    assert scene.statuses == {"unknown": 1}

    sleeper.resume()
    sleeper.answer()

    assert scene.statuses == {"delivered": 1}
    assert recipient.submissions() == 1


def test_a_worker_inside_the_callers_transaction_sends_nothing(
    scene: Scene, shift: Shift, recipient: Simulator
) -> None:
    with pytest.raises(OpenTransactionError, match="refusing to send inside a transaction"):
        _sweep_inside_a_transaction()
    assert recipient.submissions() == 0

    shift()

    assert scene.statuses == {"delivered": 1}


def _sweep_inside_a_transaction() -> None:
    with transaction.atomic():
        Worker("shift", 1).run_shift(10)


def test_what_one_pass_delivered_stays_although_another_in_it_broke(
    laboratory: Laboratory, recipient: Simulator
) -> None:
    scene = laboratory.scene(count=2)
    recipient.behave(scene.to[1], "reset")
    scene.agent().answer()

    for _ in range(2):
        scene.parent.fork("tests.crash.tasks:shift").answer()
        scene.outlive_leases()

    assert [row.status for row in scene.deliveries] == ["delivered", "unknown"]
    assert [recipient.submissions(to) for to in scene.to] == [1, 1]


def test_a_hook_that_raises_each_time_changes_nothing_and_is_an_event(
    scene: Scene, recipient: Simulator
) -> None:
    for _ in range(10):
        scene.parent.fork("tests.crash.tasks:hooked", error="IntegrityError").answer()
        scene.outlive_leases()

    assert scene.statuses == {"delivered": 1}
    assert recipient.submissions() == 1
    assert Event.objects.filter(kind="hook_failed").count() == 1


def test_a_look_up_that_breaks_after_the_answer_costs_neither_the_id_nor_the_status(
    scene: Scene, recipient: Simulator
) -> None:
    scene.parent.fork("tests.crash.tasks:hooked", error="LookupError").answer()

    (row,) = scene.deliveries
    assert row.status == "delivered"
    assert row.provider_message_id == recipient.last_submissions()[0]["effect"]


def test_a_worker_killed_before_the_socket_opens_leaves_no_silent_delivery(
    scene: Scene, shift: Shift, recipient: Simulator
) -> None:
    armed = {"at": "written-ahead", "do": "kill"}
    scene.parent.fork("tests.crash.tasks:shift", armed=armed).wait_killed()
    assert scene.statuses == {"submitting": 1}
    scene.outlive_leases()

    shift()

    assert scene.statuses == {"unknown": 1}
    assert recipient.submissions() == 0
    assert Attempt.objects.get().phase == ""


def test_a_retry_is_one_row_and_one_item_wherever_its_worker_died(
    scene: Scene, shift: Shift, recipient: Simulator
) -> None:
    recipient.behave(scene.to[0], {"do": "rate_limit", "retry_after": "13"})
    armed = {"at": "attempts-closed", "do": "kill"}
    scene.parent.fork("tests.crash.tasks:shift", armed=armed).wait_killed()
    assert OutboxItem.objects.count() == 1
    assert Attempt.objects.get().closed_at is None
    scene.outlive_leases()

    shift()

    assert OutboxItem.objects.count() <= 1
    assert scene.statuses == {"unknown": 1}
    assert recipient.submissions() == 1
