"""A database that was restored is an alarm: nothing is sent, and only people end that."""

import pytest
from django.urls import reverse

from delivery import lifting, restoring, switches
from delivery.watch.checks import BY_NAME, Finding, State
from delivery.watch.message import place
from delivery.watch.reading import read_figures
from ledgers import instance
from ledgers.models import Installation

pytestmark = pytest.mark.django_db


def seen() -> Finding:
    (finding,) = BY_NAME["restored"].look(read_figures())
    return finding


def test_it_is_red_at_once_says_why_and_leads_to_the_page_of_the_hold() -> None:
    assert restoring.hold_restored("it is older than it was", 1, instance.present(), "worker-1")

    found = seen()

    assert found.state is State.RED
    assert found.sentence == (
        "Everything is held: the database was restored: it is older than it was."
    )
    assert found.since == Installation.objects.get().held_at
    assert place(BY_NAME["restored"], "") == reverse("admin:restore")


def test_so_is_a_database_that_nobody_knows() -> None:
    assert restoring.hold_unsure("this host has no mark of it", "worker-1")

    assert seen().state is State.RED


def test_what_a_person_holds_is_none() -> None:
    switches.hold("fire drill", "ann")

    assert seen().state is State.OK


def test_it_is_over_once_people_let_work_go_on() -> None:
    assert restoring.hold_restored("older", 1, instance.present(), "worker-1")
    while restoring.rewind_some("worker-1") is not None:
        pass

    lifting.lift(Installation.objects.get().held_at, "the old workers are off", "ann")

    assert seen().state is State.OK
