"""Many at once: a batch that breaks midway, a fan-out that is repeated, a crowd of workers."""

import pytest
from django.db import transaction

from delivery import agent
from delivery.crashlab.laboratory import Laboratory
from delivery.simulator.client import Simulator
from ledgers import outbox
from ledgers.models import Attempt, Delivery
from tests.crash import clock
from tests.embedded.processes import until


def test_one_of_a_hundred_that_cannot_open_its_socket_disturbs_no_other(
    laboratory: Laboratory, recipient: Simulator
) -> None:
    scene = laboratory.scene(count=100)
    scene.agent().answer()
    scene.parent.fork("tests.crash.tasks:out_of_descriptors", at=37).answer()
    assert recipient.submissions() >= 99
    first_pass = recipient.effects_by_destination()

    clock.pass_s(60)
    scene.parent.fork("tests.crash.tasks:shift").answer()

    assert scene.statuses == {"delivered": 100}
    assert set(recipient.effects_by_destination().values()) == {1}
    assert len(first_pass) in {99, 100}
    assert recipient.submissions() == 100
    assert Attempt.objects.filter(outcome="not_sent").count() == 1


def test_a_batch_of_fifty_cut_short_by_a_deploy_reaches_each_once(
    laboratory: Laboratory, recipient: Simulator
) -> None:
    scene = laboratory.scene(count=50)
    scene.agent().answer()
    recipient.behave("*", *["accept"] * 19, "accept_and_wait")
    worker = scene.parent.fork("tests.crash.tasks:resident", concurrency=1)
    recipient.wait_for("held")
    worker.terminate()
    until(lambda: scene.statuses.get("delivered") == 19, "what was answered is written down")
    worker.kill()
    assert recipient.effects() == 20
    scene.outlive_leases()

    for _ in range(2):
        scene.parent.fork("tests.crash.tasks:shift").answer()
        scene.outlive_leases()

    assert set(recipient.effects_by_destination().values()) == {1}
    assert scene.statuses == {"delivered": 49, "unknown": 1}


def test_a_fan_out_repeated_sixteen_times_owes_each_member_one_message(
    laboratory: Laboratory, recipient: Simulator
) -> None:
    scene = laboratory.scene(count=40)

    for round_ in range(16):
        if round_ < 15:
            with pytest.raises(RuntimeError, match="half way"):
                _fan_out(scene.channel.slug, scene.to, breaks_after=25)
        else:
            _fan_out(scene.channel.slug, scene.to)
        scene.parent.fork("tests.crash.tasks:shift").answer()
        clock.pass_s(60)

    assert Delivery.objects.count() == 40
    assert recipient.effects_by_destination() == dict.fromkeys(scene.to, 1)


def _fan_out(channel: str, members: tuple[str, ...], breaks_after: int | None = None) -> None:
    """A naive fan-out: it does everything again from the first member on."""
    with agent.run("weekly", agent="reporter") as run:
        for number, member in enumerate(members):
            if number == breaks_after:
                raise RuntimeError("broke half way")
            report = agent.Message("report", channel=channel, to=[member], content="all is well")
            run.step(f"member-{number}").complete({}, [report])


def test_a_second_claim_in_the_same_instant_is_empty(laboratory: Laboratory) -> None:
    scene = laboratory.scene(count=5)
    scene.agent().answer()

    with transaction.atomic():  # its clock stands still
        first = outbox.claim({scene.channel.pk: 10})
        second = outbox.claim({scene.channel.pk: 10})

    assert len({item.delivery_id for item in first}) == len(first) == 5
    assert second == []


def test_twenty_workers_released_at_once_claim_one_item_once(
    laboratory: Laboratory, recipient: Simulator
) -> None:
    scene = laboratory.scene()
    scene.agent().answer()
    crowd = [scene.parent.fork("tests.crash.tasks:shift", gated=True) for _ in range(20)]
    for worker in crowd:
        worker.wait_stopped()

    for worker in crowd:
        worker.resume()
    claims = sorted(worker.answer() for worker in crowd)

    assert claims == [0] * 19 + [1]
    assert recipient.effects() == recipient.submissions() == 1
    assert scene.statuses == {"delivered": 1}


def test_a_step_that_kills_its_own_process_is_stopped_after_two_deaths(
    laboratory: Laboratory, recipient: Simulator
) -> None:
    scene = laboratory.scene()

    def start() -> str:
        child = scene.parent.fork(
            "tests.crash.tasks:suicidal_agent",
            run_id=scene.run_id,
            channel=scene.channel.slug,
            to=scene.to,
            lease_s=60,
        ).wait()
        scene.parent.fork("tests.crash.tasks:shift").answer()
        clock.pass_s(61)
        return "killed" if child.killed else str(child.answer())

    ends = [start() for _ in range(6)]

    assert ends == ["killed", "killed", "crash_loop", "crash_loop", "crash_loop", "crash_loop"]
    assert recipient.effects() == 1
    assert agent.owed(scene.run_id).status == "crash_loop"
