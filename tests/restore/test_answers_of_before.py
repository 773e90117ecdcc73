"""Answers that come to a database that was put back meanwhile: whose they are, and what for."""

import pytest

from delivery import lifting
from delivery.channels.contract import Finding, Query
from delivery.history import read
from delivery.reconcile import Search, settle_searches
from delivery.settle import settle
from delivery.ways import Ways
from ledgers.models import Attempt, Channel, Evidence
from tests.delivery.senders import Desk, Pause
from tests.delivery.waves import on_the_wire, take_call
from tests.factories import delivery, record, sweep
from tests.restore.backups import Backup

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_answer_of_before_the_restore_says_nothing_about_an_attempt_that_has_its_number(
    alerts: Channel, desk: Desk
) -> None:
    sweep()
    backup = Backup.now()
    record(["tg:old"])
    old = take_call()
    old.run()
    backup.restore()
    record(["tg:new"], run_id="another")
    pause = Pause()
    desk.script("tg:new", pause)
    new = take_call()
    assert (new.attempt_id, new.delivery_pk) == (old.attempt_id, old.delivery_pk)

    with on_the_wire(new, pause):
        settle([old], "worker-1")
        told = delivery("tg:new", run_id="another").status, Attempt.objects.get().outcome
    settle([new], "worker-1")

    assert told == ("submitting", "")


def test_a_worker_ends_although_it_has_the_answer_to_an_attempt_that_is_forgotten(
    alerts: Channel, desk: Desk
) -> None:
    sweep()
    backup = Backup.now()
    record(["tg:old"])
    old = take_call()
    old.run()
    backup.restore()

    assert settle([old], "worker-1") == []


def test_an_acceptance_of_a_forgotten_attempt_is_evidence_of_its_delivery(
    alerts: Channel, desk: Desk
) -> None:
    sweep()
    record(["tg:1"])
    backup = Backup.now()
    old = take_call()
    old.run()
    backup.restore()
    lifting.declare_restored("a dump", "ann")
    sweep()
    doubt = delivery("tg:1").status

    settle([old], "worker-1")

    row = delivery("tg:1")
    assert (doubt, row.status, row.provider_message_id) == ("unknown", "delivered", "id-1")
    assert desk.effects("tg:1") == 1


def test_a_search_of_before_the_restore_finds_nothing_for_a_delivery_that_has_its_number(
    alerts: Channel, desk: Desk
) -> None:
    sweep()
    backup = Backup.now()
    (forgotten,) = record(["tg:old"])
    case = read([forgotten.pk], Ways())[0]
    backup.restore()
    (other,) = record(["tg:new"], run_id="another")
    query = Query("", "", "", "tg:old", "", case.now)
    search = Search(case, query, Ways().of(alerts.pk).adapter, 1)
    search.findings = [Finding("key_lookup", "found", "the index", "it is there")]

    settle_searches([search], "worker-1", leased=False)

    assert other.pk == forgotten.pk
    assert (delivery("tg:new", run_id="another").status, Evidence.objects.count()) == ("pending", 0)
