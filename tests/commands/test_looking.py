"""`show_run`, `show_delivery`, `list_unknown`: all that is known, and nothing a screen obeys."""

import pytest

from delivery import agent
from delivery.simulator.client import Simulator
from ledgers.models import Channel, Delivery
from tests.commands.shell import typed
from tests.factories import delivery, message, record, sweep


def test_a_run_accounts_for_every_destination_in_one_line(
    alerts: Channel, recipient: Simulator
) -> None:
    recipient.behave("room:c", "accept_and_reset")
    record(["room:a", "room:b", "room:c"])
    sweep()

    shown = typed("show_run", "run-1")

    assert shown.code == 1
    assert "3 of 3 destinations: 2 delivered, 1 unknown" in shown.out
    assert "Must not be sent again by anybody: 2 delivered, 1 may have arrived." in shown.out


def test_a_run_with_nothing_open_is_fine(alerts: Channel) -> None:
    record(["room:a"])
    sweep()

    shown = typed("show_run", "run-1", "--json")

    assert shown.code == 0
    assert shown.json["counts"] == {"delivered": 1}
    assert shown.json["steps"][0]["step_id"] == "write"


def test_a_run_shows_what_a_later_execution_did_differently(alerts: Channel) -> None:
    record(["room:a"])
    record(["room:b"])

    shown = typed("show_run", "run-1")

    assert "roster_drift" in shown.out
    assert "not_added ['room:b']" in shown.out


def test_an_announced_message_that_is_missing_is_a_finding(alerts: Channel) -> None:
    with agent.run("run-1", agent="tester") as run:
        run.step("write").complete(None, announces=["digest"])

    shown = typed("show_run", "run-1")

    assert shown.code == 1
    assert "write announced digest" in shown.out


def test_a_long_roster_does_not_hide_the_one_that_is_unknown(
    alerts: Channel, recipient: Simulator
) -> None:
    recipient.behave("room:z", "accept_and_reset")
    record([*(f"room:{n}" for n in range(60)), "room:z"])
    sweep()

    shown = typed("show_run", "run-1")

    assert "room:z" in shown.out
    assert "and 21 more; --all shows them" in shown.out
    assert "more" not in typed("show_run", "run-1", "--all").out


def test_no_run_of_this_name_is_a_misuse(transactional_db: None) -> None:
    assert typed("show_run", "nope").code == 2
    assert typed("show_run", "no\udcffpe").code == 2


@pytest.mark.parametrize("handle", ["id", "prefix", "key", "recognizer", "provider"])
def test_a_delivery_is_found_by_whatever_a_person_holds(alerts: Channel, handle: str) -> None:
    record(["room:a"])
    sweep()
    row = delivery("room:a")
    names = {
        "id": str(row.delivery_id).upper(),
        "prefix": str(row.delivery_id)[:9],
        "key": row.idempotency_key,
        "recognizer": row.recognizer,
        "provider": row.provider_message_id,
    }

    shown = typed("show_delivery", names[handle], "--json")

    assert shown.code == 0
    assert shown.json["delivery_id"] == str(row.delivery_id)
    assert shown.json["attempts"][0]["outcome"] == "accepted"
    assert [event["kind"] for event in shown.json["trail"]] == ["record", "begin", "accept"]


@pytest.mark.parametrize("name", ["", "abc", "zz", "ffffffff", "x\udcff", "-1"])
def test_what_names_no_delivery_is_a_misuse_that_says_what_would(
    transactional_db: None, name: str
) -> None:
    shown = typed("show_delivery", "--", name)

    assert shown.code == 2
    assert "a delivery id or its first 4 or more digits" in shown.err


def test_a_name_of_several_deliveries_lists_them(alerts: Channel) -> None:
    first, second = record([f"room:{n}" for n in "ab"])
    Delivery.objects.filter(pk__in=[first.pk, second.pk]).update(provider_message_id="same")

    shown = typed("show_delivery", "same")

    assert shown.code == 2
    assert str(first.delivery_id) in shown.err
    assert str(second.delivery_id) in shown.err


def test_an_unknown_delivery_says_what_either_course_would_come_to(unknown: Delivery) -> None:
    shown = typed("show_delivery", str(unknown.delivery_id))

    assert shown.code == 1
    assert (
        "If we send again now, it may have arrived already, and the provider honours no key for"
        " it: it may arrive twice." in shown.out
    )
    assert "If nothing is done, the destination is searched at " in shown.out


def test_what_comes_from_outside_cannot_drive_the_terminal(alerts: Channel) -> None:
    record(["room:a"], "\x1b[2Jgone\u202e")

    shown = typed("show_delivery", str(delivery("room:a").delivery_id))

    assert "\x1b" not in shown.out
    assert "\u202e" not in shown.out
    assert "gone" in shown.out


def test_unknown_deliveries_are_listed_oldest_first(
    unknown: Delivery, recipient: Simulator
) -> None:
    recipient.behave("room:b", "accept_and_reset")
    record(["room:b"], run_id="run-2")
    sweep()

    listed = typed("list_unknown", "--json")

    assert listed.code == 1
    assert listed.json["count"] == 2
    assert [one["destination"] for one in listed.json["unknown"]] == ["room:ops", "room:b"]


def test_a_list_that_is_cut_says_so(unknown: Delivery, recipient: Simulator) -> None:
    recipient.behave("room:b", "accept_and_reset")
    record(["room:b"], run_id="run-2")
    sweep()

    listed = typed("list_unknown", "--limit", "1")

    assert "2 unknown, the oldest 1 shown" in listed.out


def test_nothing_unknown_is_fine_and_a_channel_that_is_not_there_is_not(alerts: Channel) -> None:
    message(["room:a"])

    assert typed("list_unknown").out == "nothing is unknown, and nothing waits for a person\n"
    assert typed("list_unknown", "--channel", "alerts").code == 0
    refused = typed("list_unknown", "--channel", "allerts")
    assert (refused.code, "Right would be: alerts" in refused.err) == (2, True)
