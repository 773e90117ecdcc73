"""What django-q2 does when it is killed costs a delay, never a delivery and never a second one."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django_q.models import Schedule

from delivery import agent, tasks
from delivery.crashlab.laboratory import Laboratory
from delivery.crashlab.report import Row
from delivery.crashlab.scene import Scene
from delivery.simulator.client import Simulator
from delivery.watch.checks import State, findings
from delivery.watch.reading import read_figures
from ledgers.models import Attempt
from tests.crash.conftest import Noting
from tests.crash.qcluster import Cluster, alive
from tests.embedded.processes import until

Record = Callable[[str, tuple[str, ...]], None]


@pytest.fixture
def scene(laboratory: Laboratory, settings: Any) -> Scene:
    """Twelve destinations not yet recorded; whoever records asks the cluster for a shift."""
    settings.COUNTERFOIL_QCLUSTER = True
    Schedule.objects.all().delete()  # its shift would come at a time of its own
    return laboratory.scene(count=12)


@pytest.fixture
def cluster(scene: Scene, tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster.start(tmp_path / "first.log")
    yield cluster
    cluster.end()


@pytest.fixture
def record(scene: Scene) -> Iterator[Record]:
    """Records in this process, and asks for a shift however shortly ago it asked for one."""
    with agent.run(scene.run_id, agent="tester") as run:

        def record(name: str, to: tuple[str, ...]) -> None:
            tasks._last_hint = 0.0
            message = agent.Message(name, channel=scene.channel.slug, to=to, content="hello")
            run.step(name).complete({}, [message])

        yield record


def test_a_cluster_made_deaf_by_a_killed_idle_worker_is_helped_by_a_resident_one(
    scene: Scene, cluster: Cluster, record: Record, recipient: Simulator, noted: Noting
) -> None:
    record("before", scene.to[:1])
    until(lambda: scene.statuses == {"delivered": 1}, "the cluster works")
    # The other worker has waited since then for the next task, with the queue's lock in its hand.
    (idle,) = set(cluster.workers) - _pids_of_workers()
    cluster.kill_worker(idle)

    record("after", scene.to[1:])
    deaf = [cluster.process.pid, *cluster.workers]
    # Every process is alive and nobody has said a word: it is seen from the tables. (The schedule
    # was taken away above.)
    assert _silence_after(120) == {"worker", "scheduler"}
    resident = scene.parent.fork("tests.crash.tasks:resident", concurrency=4)
    until(lambda: scene.statuses == {"delivered": 12}, "everything is delivered")
    resident.terminate()
    resident.wait()

    assert all(alive(pid) for pid in deaf)
    assert _pids_of_workers(delivery__destination__in=scene.to[1:]) == {resident.pid}
    assert recipient.effects_by_destination() == dict.fromkeys(scene.to, 1)
    _note(noted, Row(9, "idle q worker killed: deaf", 1, 0, 0, ""), scene)


def _silence_after(seconds: float) -> set[str]:
    """Which checks are not ok when so much more time has passed; for the rows it then goes back."""
    marks = {"delivery_worker": "beat_at", "ledgers_outboxitem": "due_at"}
    with transaction.atomic(), connection.cursor() as cursor:
        for table, column in marks.items():
            cursor.execute(
                f"UPDATE {table} SET {column} = {column} - make_interval(secs => %s)", [seconds]
            )
        found = findings(read_figures())
        transaction.set_rollback(True)
    return {one.check for one in found if one.state is not State.OK}


def test_orphans_of_a_killed_cluster_and_a_new_one_deliver_each_message_once(
    scene: Scene,
    cluster: Cluster,
    record: Record,
    recipient: Simulator,
    noted: Noting,
    tmp_path: Path,
) -> None:
    recipient.behave(scene.to[0], "accept_and_wait")
    record("held", scene.to[:1])
    recipient.wait_for("held")
    orphans = cluster.workers
    cluster.kill_main()

    second = Cluster.start(tmp_path / "second.log")
    try:
        for number, to in enumerate(scene.to[1:]):
            record(f"more-{number}", (to,))
        recipient.wait_for("effects", 12, timeout_s=30)
        assert all(alive(pid) for pid in orphans)
        recipient.release()
        until(lambda: scene.statuses == {"delivered": 12}, "everything is delivered")
    finally:
        second.end()

    assert recipient.effects_by_destination() == dict.fromkeys(scene.to, 1)
    assert Attempt.objects.count() == recipient.submissions() == 12
    _note(noted, Row(6, "q cluster's main killed: orphans", 1, 0, 0, ""), scene)


def _pids_of_workers(**which: object) -> set[int]:
    """The processes that made these attempts."""
    names = Attempt.objects.filter(**which).values_list("worker", flat=True)
    return {int(name.split(":")[1]) for name in names}


def _note(noted: Noting, row: Row, scene: Scene) -> None:
    """Put the row into the table, with what is found at the end."""
    tally = scene.tally()
    found = replace(
        row,
        attempts=tally.attempts,
        effects=tally.effects,
        ended=", ".join(tally.statuses),
        broken=tally.broken,
    )
    assert not noted(found).broken
