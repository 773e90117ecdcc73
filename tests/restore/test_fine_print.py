"""Traces that broke earlier marks, played against this one."""

import threading

import pytest
from django.db import connection

from delivery.claim import claim
from delivery.origin import Origin
from delivery.submit import Call, Identity
from delivery.timing import boottime
from delivery.wave import open_wave
from ledgers.models import Attempt, Channel, Installation
from tests.delivery.senders import Desk
from tests.factories import delivery, record, sweep
from tests.restore.backups import Backup

pytestmark = pytest.mark.django_db(transaction=True)


class SlowToCommit(Origin):
    """A worker whose write-ahead stays uncommitted until it is let go."""

    def __init__(self, who: Identity) -> None:
        super().__init__(who, "shift")
        self.written, self.go = threading.Event(), threading.Event()

    def count(self) -> None:
        super().count()
        self.written.set()
        assert self.go.wait(20)


def wave(who: Identity, origin: Origin) -> list[Call]:
    """One delivery claimed, written ahead, and kept in the mark; not yet on the wire."""
    origin.learn()
    mark = boottime()
    jobs = open_wave(claim(1, {}, 1), mark, who, guard=origin)
    return [job for job in jobs if isinstance(job, Call)]


def test_a_backup_with_a_later_attempt_and_without_the_one_that_was_sent_is_noticed(
    alerts: Channel, desk: Desk
) -> None:
    """Fine print: sequence order is not commit order.

    Attempt 1 is written and not committed; attempt 2 is, and is seen; the backup is made; then
    attempt 1 is committed and sent. A mark of the highest attempt seen would be satisfied by that
    backup, and attempt 1 would be sent again.
    """
    record(["tg:1"])
    record(["tg:2"], run_id="run-2")  # due a moment later, so that it is taken second
    slow = SlowToCommit(Identity("slow", "host", "build"))
    calls: list[Call] = []

    def work() -> None:
        calls.extend(wave(slow._who, slow))
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    assert slow.written.wait(20)
    quick = Origin(Identity("quick", "host", "build"), "shift")
    seen = wave(quick._who, quick)
    backup = Backup.now()
    slow.go.set()
    thread.join(20)
    (sent,) = calls
    sent.run()

    backup.restore()
    kept = list(Attempt.objects.values_list("pk", flat=True))
    sweep()

    assert kept == [seen[0].attempt_id]
    assert sent.attempt_id < seen[0].attempt_id
    assert [one.destination for one in desk.acted_on] == ["tg:1"]
    assert delivery("tg:1").status == "unknown"
    assert Installation.objects.get().epoch == 2


def test_a_beat_stands_for_what_others_had_committed_before_it(alerts: Channel, desk: Desk) -> None:
    """A host whose own last wave is older than the backup notices all the same.

    Its file names only its own worker by then: that count was raised after the others' was seen.
    """
    idle = Origin(Identity("idle", "host", "build"), "shift")
    idle.learn()
    record(["tg:1"])
    backup = Backup.now()
    sweep()
    idle._beat()

    backup.restore()
    idle._beat()
    known = idle.known
    sweep()

    assert known is False
    assert desk.effects("tg:1") == 1
    assert "the count of worker idle is" in Installation.objects.get().held_reason
