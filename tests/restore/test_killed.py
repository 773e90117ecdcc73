"""A worker that notices a restore is killed at any statement: the next one completes it.

Nothing is sent at any of them, nothing is left out of the reckoning, and the epoch is raised once
more at most: where the one that noticed died before its host knew, another has to begin anew.
"""

from collections.abc import Iterator

import pytest

from delivery import origin
from delivery.crashlab.processes import WarmParent
from ledgers.models import Channel, Delivery
from tests.conftest import verify_ledgers
from tests.delivery.senders import Desk
from tests.factories import record, sweep
from tests.restore.backups import Backup
from tests.restore.scenes import whole

pytestmark = pytest.mark.django_db(transaction=True)
TO = ["tg:1", "tg:2", "tg:3"]
TASK = "tests.restore.killed:come"
WHEN = ("before", "after")


@pytest.fixture(scope="module")
def parent(django_db_setup: None) -> Iterator[WarmParent]:
    with WarmParent("tests.restore.killed") as parent:
        yield parent


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origin, "WAIT_S", 0.0)


@pytest.fixture
def backup(alerts: Channel, desk: Desk) -> Backup:
    """Of when all was due; it has been sent since."""
    record(TO)
    backup = Backup.now()
    sweep()
    assert len(desk.acted_on) == len(TO)
    return backup


def kill_at(number: int, when: str, parent: WarmParent, backup: Backup, desk: Desk) -> None:
    """Restore, let a worker come and die there, let another come, and look."""
    backup.restore()
    child = parent.fork(TASK, number=number, when=when)
    point = child.wait_killed()
    verify_ledgers()
    sweep()

    told = f"{when} statement {number}: {point}"
    assert {row.status for row in Delivery.objects.all()} == {"unknown"}, told
    assert Delivery.objects.filter(rewound_at__isnull=False).count() == len(TO), told
    assert (whole().restoring, whole().rewound_to) == (True, None), told
    assert whole().epoch in {2, 3}, told
    assert len(desk.acted_on) == len(TO), told
    verify_ledgers()


def statements(parent: WarmParent, backup: Backup) -> int:
    """How many a worker makes that comes to it and is not killed."""
    backup.restore()
    made: int = parent.fork(TASK, number=0, when="").answer()
    return made


@pytest.mark.parametrize("part", [3, 5])
def test_some_kills_on_the_way_to_the_hold_and_through_the_rewinding(
    parent: WarmParent, backup: Backup, desk: Desk, part: int
) -> None:
    made = statements(parent, backup)

    kill_at(made * part // 8, WHEN[part // 4], parent, backup, desk)


@pytest.mark.laboratory
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("when", "first"), [("before", 1), ("after", 2)])
def test_every_kill_on_the_way(
    parent: WarmParent, backup: Backup, desk: Desk, when: str, first: int
) -> None:
    """Of two that follow each other one before and one after: only a commit lies between."""
    made = statements(parent, backup)

    assert made > 20
    for number in range(first, made, 2):
        kill_at(number, when, parent, backup, desk)
