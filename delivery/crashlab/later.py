"""The boundaries beyond the classical six: what restarts, clocks, restores and silence do."""

from dataclasses import replace

from django.db import connection, transaction

from delivery import restoring
from delivery.crashlab.drills import (
    KEYED,
    LOOKING,
    Boundary,
    Terms,
)
from delivery.crashlab.scene import Scene
from delivery.crashlab.tasks import connection_name
from ledgers.models import Attempt, Event, OutboxItem

DAY_S = 86_400
LONG_TEXT = "a line of a long report\n" * 20


def roster_recomputed(scene: Scene) -> None:
    """The agent comes back and thinks of other destinations than those it has committed to."""
    scene.kill_agent_at("recorded")
    scene.outlive_leases()
    scene.agent(to=(f"{scene.to[0]}-late", *scene.to[1:])).answer()
    scene.come_to_rest()
    drift = Event.objects.filter(step__run__run_id=scene.run_id, kind="roster_drift").first()
    scene.check(drift is not None, "the other roster is in the trail")
    gone = {row.destination for row in scene.deliveries}
    scene.check(gone == set(scene.to), "the roster it committed to still holds")


def window_closed(scene: Scene) -> None:
    scene.agent().answer()
    scene.kill_worker_at("accepted")
    scene.pass_s(3 * scene.channel.lease_s)
    scene.restart()


def never_ran(scene: Scene) -> None:
    """The task that was to do it is killed before its first line, and no other was asked for."""
    scene.agent().answer()
    task = scene.worker(gated=True)
    task.wait_stopped()
    scene.kill(task)
    owed = OutboxItem.objects.filter(channel=scene.channel, leased=False).count()
    scene.check(owed == len(scene.to), "all of it is still owed, and nobody holds it")
    scene.come_to_rest()


def zombie(scene: Scene) -> None:
    """Frozen in front of its last check until its lease is over and others have finished."""
    scene.agent().answer()
    sleeper = scene.worker(armed={"at": "before-last-check", "do": "stop"})
    sleeper.wait_stopped()
    scene.come_to_rest()
    sleeper.resume()
    sleeper.answer()
    first = Attempt.objects.get(delivery__message__step__run__run_id=scene.run_id, number=1)
    # Held back, or given up by a worker that woke, found the call overdue, and ended.
    scene.check(first.outcome in {"not_tried", ""}, "nothing left it after its lease")
    scene.come_to_rest()


def clocks_apart(scene: Scene) -> None:
    """Two workers a day ahead and a day behind see the same lease as everybody else."""
    scene.agent().answer()
    holder = scene.worker(armed={"at": "claimed", "do": "stop"})
    holder.wait_stopped()
    others = [scene.worker(wall_skew_s=skew) for skew in (DAY_S, -DAY_S)]
    scene.check([one.answer() for one in others] == [0, 0], "only the database's clock counts")
    scene.kill(holder)
    scene.outlive_leases()
    scene.check(scene.worker(wall_skew_s=-DAY_S).answer() == 1, "it is due when the lease is over")
    scene.come_to_rest()


def restored(scene: Scene) -> None:
    """A send that the database does not know of any more, and is told to reckon with."""
    scene.agent().answer()
    (row,) = scene.deliveries
    task = "delivery.crashlab.tasks:send_unrecorded"
    outcome = scene.parent.fork(task, delivery=row.pk).answer()
    scene.check(outcome == "accepted", "the forgotten submission was accepted")
    scene.forgotten += 1
    with transaction.atomic():
        restoring.rewind([row.pk], "crashlab")
    scene.restart()


def partly_accepted(scene: Scene) -> None:
    """Killed when the first of several parts was accepted: it is not sent again, the rest is."""
    scene.text = LONG_TEXT
    scene.agent().answer()
    scene.kill_worker_at("accepted")
    scene.restart()
    parts = [row.part for row in scene.deliveries]
    scene.check(len(parts) > 1 and parts == sorted(parts), "it was several parts")


def ambiguous(scene: Scene) -> None:
    scene.simulated.behave(scene.to[0], "502+effect")
    scene.agent().answer()
    scene.kill_worker_at("answered")
    scene.restart()


def ledger_unwritable(scene: Scene) -> None:
    """The database drops the worker's connection between the acceptance and its record."""
    scene.agent().answer()
    worker = scene.worker(armed={"at": "accepted", "do": "stop"})
    worker.wait_stopped()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE application_name = %s",
            [connection_name(worker.pid)],
        )
        scene.check(cursor.fetchone() == (1,), "its connection was cut")
    worker.resume()
    worker.answer()
    scene.come_to_rest()


RESENDING = replace(LOOKING, resend_after_absent=True)

LATER: tuple[Boundary, ...] = (
    Boundary(7, "roster-recomputed", roster_recomputed, "delivered", destinations=2),
    Boundary(8, "window-closed", window_closed, "unknown", Terms(window_leases=3)),
    Boundary(9, "never-ran", never_ran, "delivered"),
    Boundary(10, "zombie", zombie, "delivered", RESENDING, attempts=2),
    Boundary(10, "zombie-with-key", zombie, "delivered", KEYED, attempts=2),
    Boundary(11, "clocks-apart", clocks_apart, "delivered"),
    Boundary(12, "restored", restored, "delivered", LOOKING, attempts=0),
    Boundary(13, "partly-accepted", partly_accepted, "delivered", replace(LOOKING, part_limit=300)),
    Boundary(14, "ambiguous-answer", ambiguous, "unknown", simulator_only=True),
    Boundary(14, "ambiguous-then-looked-up", ambiguous, "delivered", LOOKING, simulator_only=True),
    Boundary(15, "ledger-unwritable", ledger_unwritable, "delivered"),
)
