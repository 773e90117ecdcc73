"""Workers seal the record in passing, so that nobody has to."""

import pytest

from delivery import sealing, tasks
from delivery.sealing import Sealing
from ledgers import seals
from ledgers.models import Channel, Seal, Unsealed
from tests.commands.shell import typed
from tests.delivery.senders import Desk
from tests.factories import record

pytestmark = pytest.mark.django_db


def test_a_worker_looks_every_five_seconds_and_seals_what_is_due(
    alerts: Channel, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(sealing, "boottime", lambda: clock[0])
    one = Sealing()
    record()

    one.turn()
    early = Seal.objects.count()
    clock[0] += sealing.LOOK_EVERY_S
    more = one.turn()

    assert (early, Seal.objects.count(), more) == (0, 1, False)
    assert not Unsealed.objects.exists()


def test_after_a_whole_batch_it_looks_again_at_once(
    alerts: Channel, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(sealing, "boottime", lambda: clock[0])
    one = Sealing()
    record([f"tg:{n}" for n in range(20)])
    waiting = Unsealed.objects.count()
    monkeypatch.setattr(seals, "BATCH", waiting // 2)
    monkeypatch.setattr(seals.seal, "__defaults__", (waiting // 2,))
    clock[0] += sealing.LOOK_EVERY_S

    turns = [one.turn(), one.turn()]

    assert turns[0]
    assert Seal.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_shift_of_the_q_cluster_seals_at_its_end(alerts: Channel, desk: Desk) -> None:
    record()

    tasks.work_shift()

    assert Seal.objects.count() == 1
    assert not Unsealed.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_runs_once_seals_at_its_end(alerts: Channel, desk: Desk) -> None:
    record()

    said = typed("deliver", "--once")

    assert said.code == 0
    assert not Unsealed.objects.exists()
