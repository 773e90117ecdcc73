"""The page of a restore's hold: why, what it has put in doubt, and a person's word about it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from delivery import restoring
from delivery.history import read
from delivery.watch.reading import read_figures
from delivery.ways import Ways
from ledgers import instance
from ledgers.clock import database_now
from ledgers.models import Channel, Event, Installation
from reviews import attention, incidents
from reviews.records import Decision
from reviews.restored import standing
from tests.console.conftest import As
from tests.delivery import senders
from tests.factories import make_channel, record, sweep

pytestmark = pytest.mark.django_db
committing = pytest.mark.django_db(transaction=True)
HELD = "Everything is held"


@pytest.fixture(autouse=True)
def desk(monkeypatch: pytest.MonkeyPatch) -> senders.Desk:
    fresh = senders.Desk()
    monkeypatch.setattr(senders, "desk", fresh)
    return fresh


def noticed() -> None:
    """As a worker would: held, and everything that is open reckoned with."""
    assert restoring.hold_restored("it is older than it was", 1, instance.present(), "worker-1")
    while restoring.rewind_some("worker-1") is not None:
        pass


def doubted() -> None:
    """Nobody can tell where the database comes from."""
    assert restoring.hold_unsure("this host has no mark of it", "worker-1")


def text_of(client: Client) -> str:
    return client.get(reverse("admin:restore")).content.decode()


def counts() -> dict[tuple[str, str], int]:
    """How many are in doubt, by channel and by when they were due."""
    return {(one.channel, one.due): one.count for one in standing().groups}


def say(client: Client, name: str, **form: Any) -> str:
    """Send one of its forms as it stands, and read what the page says then."""
    held_at = Installation.objects.get().held_at
    usual = {"seen": held_at.isoformat() if held_at else "", "reason": "I looked"}
    answer = client.post(reverse(f"admin:{name}"), usual | form, follow=True)
    return answer.content.decode()


def test_where_nothing_was_restored_it_says_so_and_counts_nothing(admin: Client) -> None:
    text = text_of(admin)

    assert "No restore was noticed" in text
    assert "What it has put in doubt" not in text
    assert HELD not in text


def test_a_restore_shows_why_it_is_held_and_what_it_put_in_doubt(
    admin: Client, channel: Channel
) -> None:
    record(["tg:1", "tg:2"])
    record(["tg:3"], run_id="run-2", not_before=database_now() + timedelta(days=1))
    noticed()

    text = text_of(admin)

    assert "it is older than it was" in text
    assert "What it has put in doubt: 3" in text
    assert counts() == {("alerts", "meanwhile"): 2, ("alerts", "since"): 1}


@committing
def test_what_is_recorded_under_the_hold_is_told_apart(channel: Channel) -> None:
    record(["tg:1"])
    noticed()
    record(["tg:2"], run_id="run-2")

    assert counts() == {("alerts", "meanwhile"): 1, ("alerts", "since"): 1}


@committing
def test_what_had_ended_before_is_not_in_doubt(admin: Client, channel: Channel) -> None:
    record(["tg:1"])
    sweep()
    noticed()

    assert counts() == {}
    assert "What ended before the backup stays as it was" in text_of(admin)


def test_each_group_says_what_becomes_of_what_is_open_in_it(
    admin: Client, channel: Channel
) -> None:
    settings = {"path": "tests.delivery.senders.send", "dedupe_window_s": 3_600}
    make_channel("keyed", settings=settings)
    record(["tg:1"])
    record(["tg:1"], run_id="run-2", channel="keyed")
    noticed()

    text = text_of(admin)

    assert "goes out once more under the same key" in text
    assert "waits for a person: nobody can look" in text


def test_a_group_is_frozen_and_decided_about_like_any_other_selection(
    admin: Client, channel: Channel
) -> None:
    record(["tg:1", "tg:2"])
    noticed()

    text = say(admin, "restore_select", group="alerts:meanwhile:unsearched")

    draft = Decision.objects.get()
    assert draft.rows.count() == 2
    assert "restored: alerts, was due in the time that was lost; not searched since" in text
    assert "release, it was not sent" in text


def test_a_group_of_which_nothing_is_open_is_refused_in_words(
    admin: Client, channel: Channel
) -> None:
    noticed()

    text = say(admin, "restore_select", group="alerts:meanwhile:unsearched")

    assert "Nothing of it is open any more" in text
    assert not Decision.objects.exists()


def test_who_may_not_decide_gets_no_button(browse_as: As, channel: Channel) -> None:
    record(["tg:1"])
    noticed()

    assert reverse("admin:restore_select") not in text_of(browse_as("operator-admin"))
    assert reverse("admin:restore_select") in text_of(browse_as("triager"))


def test_every_page_leads_to_it_and_not_to_a_switch_that_cannot_release_it(
    admin: Client, channel: Channel
) -> None:
    noticed()

    for name in ("overview", "channels", "triage"):
        text = admin.get(reverse(f"admin:{name}")).content.decode()
        assert reverse("admin:restore") + '">What to do</a>' in text
        assert f'action="{reverse("admin:release")}"' not in text


def test_a_hold_that_a_person_made_is_released_as_ever(admin: Client, channel: Channel) -> None:
    admin.post(reverse("admin:hold"), {"reason": "fire drill"})

    text = admin.get(reverse("admin:channels")).content.decode()

    assert f'action="{reverse("admin:release")}"' in text
    assert "What to do</a>" not in text


@committing
def test_letting_work_go_on_ends_the_hold_and_sends_nothing_of_what_is_in_doubt(
    admin: Client, channel: Channel, desk: senders.Desk
) -> None:
    record(["tg:1"])
    noticed()

    text = say(admin, "restore_lift")
    sweep()

    assert "Work goes on" in text
    assert Installation.objects.get().held_at is None
    assert desk.effects("tg:1") == 0
    assert counts() == {("alerts", "meanwhile"): 1}


def test_runs_of_a_later_time_may_be_put_in_doubt_as_well(admin: Client, channel: Channel) -> None:
    record(["tg:1"])
    noticed()

    refused = say(admin, "restore_lift", doubt_until="tomorrow")
    say(admin, "restore_lift", doubt_until="2100-01-01T08:00")

    assert "no moment. Right would be one in UTC" in refused
    until = Installation.objects.get().doubt_until
    assert until == datetime(2100, 1, 1, 8, tzinfo=UTC)


def test_it_cannot_be_let_go_before_all_is_reckoned_with(admin: Client, channel: Channel) -> None:
    record(["tg:1"])
    assert restoring.hold_restored("older", 1, instance.present(), "worker-1")

    text = say(admin, "restore_lift")

    assert "not all yet: that takes a worker" in text
    assert "Not all that was open is reckoned with yet" in text
    assert Event.objects.filter(kind="refuse").count() == 1


def test_a_form_that_was_about_another_hold_changes_nothing(
    admin: Client, channel: Channel
) -> None:
    noticed()

    text = say(admin, "restore_lift", seen=database_now().isoformat())

    assert "not held as it was when you looked" in text
    assert Installation.objects.get().restoring


def test_a_database_that_is_not_known_asks_a_person_and_takes_either_answer(
    admin: Client, channel: Channel
) -> None:
    record(["tg:1"])
    doubted()
    asked = text_of(admin)

    say(admin, "restore_confirm")

    assert "No worker can tell which database this is" in asked
    assert Installation.objects.get().held_at is None


def test_saying_that_it_was_restored_holds_and_reckons_with_everything(
    admin: Client, channel: Channel
) -> None:
    record(["tg:1"])
    doubted()

    say(admin, "restore_declare")

    here = Installation.objects.get()
    assert here.restoring
    assert here.unsure_at is None


def test_without_a_reason_nothing_is_said(admin: Client, channel: Channel) -> None:
    doubted()

    text = say(admin, "restore_confirm", reason=" ")

    assert "reason" in text
    assert Installation.objects.get().unsure_at is not None


def test_who_may_only_look_gets_no_forms(browse_as: As, channel: Channel) -> None:
    noticed()

    text = text_of(browse_as("viewer"))

    assert reverse("admin:restore_lift") not in text
    assert "operate_channels" in text


def test_a_key_that_a_restore_may_have_used_closes_in_triage_and_for_the_watch(
    admin: Client,
) -> None:
    """No attempt is on record, and the window runs nevertheless: from the restore point."""
    settings = {"path": "tests.delivery.senders.send", "dedupe_window_s": 3_000}
    make_channel("keyed", settings=settings)
    [row] = record(["tg:1"], channel="keyed")
    noticed()

    [case] = read([row.pk], Ways())
    until = case.facts.key_protects_until
    [incident] = incidents.incidents()
    triage = admin.get(reverse("admin:triage")).content.decode()
    overview = admin.get(reverse("admin:overview")).content.decode()
    watched = read_figures().channels

    assert until is not None
    assert incident.closes == until
    assert "closes <time" in triage
    assert "No unknown delivery loses the protection" not in overview
    assert [one.closing.number for one in watched] == [1]
    [card] = attention.counts([attention.BY_NAME["closing"]])
    assert (card.since, watched[0].closing.since) == (until, until)
