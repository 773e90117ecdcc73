"""`manage.py crashlab`: which drills it holds, which channels it refuses, and how it ends."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from delivery.crashlab.drills import Terms
from delivery.crashlab.laboratory import Laboratory, Pace
from delivery.simulator.client import Simulator
from delivery.worker import Worker
from ledgers.models import Channel, Delivery, OutboxItem, Run
from tests.commands.shell import typed

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def channel(laboratory: Laboratory) -> Channel:
    """Somebody's channel that is marked for testing and can be searched, with a short lease."""
    channel = laboratory.scene(Terms(look_ups=True), name="staging").channel
    pace = Pace()
    channel.lease_s, channel.deadline_s, channel.margin_s = (
        pace.lease_s, pace.deadline_s, pace.margin_s,
    )  # fmt: skip
    channel.save()
    return channel


def crashlab(*arguments: str) -> dict[str, Any]:
    """What it answers where every invariant holds."""
    out = StringIO()
    call_command("crashlab", "--json", *arguments, stdout=out, stderr=StringIO())
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def test_one_boundary_is_drilled_against_a_recipient_of_its_own() -> None:
    answer = crashlab("--boundary", "accepted-not-acknowledged")

    (row,) = answer["drills"]
    assert (row["kills"], row["attempts"], row["effects"], row["ended"]) == (1, 1, 1, "unknown")
    assert answer["verdict"].endswith("every invariant holds")


def test_what_a_drill_leaves_unknown_asks_nobody_and_the_trail_says_why() -> None:
    crashlab("--boundary", "accepted-not-acknowledged")

    left = Delivery.objects.get()
    listed = typed("list_unknown", "--json")
    decided = left.events.get(kind="decide")
    assert (left.status, left.decision) == ("unknown", "leave")
    assert (decided.actor, decided.detail["reason"][:11]) == ("crashlab", "crash drill")
    assert not OutboxItem.objects.exists()
    assert (listed.code, listed.json["count"], listed.json["left"]) == (0, 0, 1)
    assert "1 more left as they are, by decision" in typed("list_unknown").out


def test_a_channel_marked_for_testing_is_drilled_and_its_recipient_asked(
    channel: Channel, recipient: Simulator
) -> None:
    arguments = ("--channel", channel.slug, "--to", "room:drill")

    answer = crashlab(*arguments, "--boundary", "accepted-not-acknowledged")

    (row,) = answer["drills"]
    assert (row["kills"], row["effects"], row["ended"]) == (1, 1, "delivered")
    assert recipient.effects("room:drill") == 1


def test_a_channel_that_is_not_marked_is_refused_before_anything_is_recorded(
    channel: Channel, recipient: Simulator
) -> None:
    Channel.objects.update(for_testing=False)

    with pytest.raises(CommandError, match="not marked for testing") as refused:
        crashlab("--channel", channel.slug, "--to", "room:drill")

    assert refused.value.returncode == 2
    assert not recipient.submissions()


def test_a_channel_whose_recipient_cannot_be_asked_is_refused(laboratory: Laboratory) -> None:
    slug = laboratory.scene(name="silent").channel.slug

    with pytest.raises(CommandError, match="cannot be asked what arrived"):
        crashlab("--channel", slug, "--to", "room:drill")


@pytest.mark.parametrize(
    ("slug", "why"), [("nowhere", "no channel"), ("crashlab-staging", "name the destination")]
)
def test_an_unknown_channel_or_none_to_send_to_is_refused(
    channel: Channel, slug: str, why: str
) -> None:
    with pytest.raises(CommandError, match=why):
        crashlab("--channel", slug)


@pytest.mark.parametrize(
    ("to", "why"),
    [
        ("user", "--to: .*placeholder"),
        ("mail:drill", "--to: 'mail:drill' is outside .* Right would be: .*'room:"),
    ],
)
def test_a_place_that_the_channel_cannot_send_to_is_refused_before_the_first_drill(
    channel: Channel, to: str, why: str
) -> None:
    with pytest.raises(CommandError, match=why) as refused:
        crashlab("--channel", channel.slug, "--to", to)

    assert refused.value.returncode == 2
    assert not Run.objects.exists()


def test_a_place_without_a_channel_is_refused() -> None:
    with pytest.raises(CommandError, match="--to: needs --channel"):
        crashlab("--to", "room:drill")


def test_a_drill_that_needs_a_simulated_recipient_is_refused_elsewhere(channel: Channel) -> None:
    with pytest.raises(CommandError, match="needs the simulated recipient"):
        crashlab("--channel", channel.slug, "--boundary", "ambiguous-answer")


def test_no_drill_is_held_beside_a_worker_that_is_alive() -> None:
    worker = Worker("resident", 1)
    worker._heartbeat.beat(0, 0)

    with pytest.raises(CommandError, match=worker.who.name):
        crashlab()


def test_a_drill_that_breaks_off_is_a_finding(channel: Channel) -> None:
    Channel.objects.update(settings=channel.settings | {"url": "http://127.0.0.1:1"})
    arguments = ("--channel", channel.slug, "--to", "room:drill", "--boundary", "zombie")

    with pytest.raises(SystemExit) as ended:
        crashlab(*arguments)

    assert ended.value.code == 1
