"""A synthetic message through the whole path, seen at its destination, and counted as nothing."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from delivery.models import Probe
from delivery.probing.seeing import look_for_all
from delivery.probing.sending import record_due
from delivery.silence import PROBE
from delivery.simulator.client import Simulator
from delivery.watch.checks import Finding, State, findings
from delivery.watch.reading import read_figures
from ledgers.models import Channel, Delivery, Installation, Run
from ledgers.states import DeliveryStatus as S
from reviews.numbers import per_channel
from reviews.widening import widens
from tests.delivery import senders
from tests.factories import make_channel, make_due, sweep
from tests.watch.scenes import beat, push

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> senders.Desk:
    fresh = senders.Desk()
    monkeypatch.setattr(senders, "desk", fresh)
    return fresh


@pytest.fixture(autouse=True)
def working(desk: senders.Desk) -> None:
    beat()


def probed(**fields: Any) -> Channel:
    return make_channel(probe_to="tg:probes", probe_every_s=3_600, **fields)


def seen() -> Finding:
    (found,) = (one for one in findings(read_figures()) if one.check == "probe")
    return found


def pass_s(seconds: float) -> None:
    """Time passes for the probe's row."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE delivery_probe SET recorded_at = recorded_at - make_interval(secs => %(s)s),"
            " looked_at = looked_at - make_interval(secs => %(s)s),"
            " unseen_since = unseen_since - make_interval(secs => %(s)s)",
            {"s": seconds},
        )


def next_turn() -> None:
    """The interval is over: the present one counts as another."""
    Probe.objects.update(run_id="an-earlier-one")


def test_a_probe_is_recorded_sent_and_found_at_its_destination(recipient: Simulator) -> None:
    settings = {"url": recipient.url, "dedupe_window_s": 3_600}
    make_channel(adapter="simulator", settings=settings, probe_to="room:probes")
    assert record_due() == 1
    sweep()
    look_for_all()

    row = Probe.objects.get()
    assert row.seen_at is not None
    assert row.unseen_since is None
    assert row.said.startswith("found by ")
    assert recipient.effects_by_destination() == {"room:probes": 1}
    assert seen().state is State.OK


def test_one_is_recorded_per_interval_however_many_watches_look(desk: senders.Desk) -> None:
    probed()

    assert [record_due() for _ in range(3)] == [1, 0, 0]
    Probe.objects.all().delete()  # a watch that has not heard of it
    record_due()
    sweep()

    assert desk.effects("tg:probes") == 1
    assert Run.objects.filter(agent=PROBE).count() == 1
    assert "nothing to do" in desk.received[0].payload


def test_where_a_channel_cannot_be_searched_acceptance_is_all_there_is_to_see() -> None:
    probed()
    record_due()
    sweep()
    look_for_all()

    assert Probe.objects.get().said == "accepted; this channel cannot be searched"


def test_accepted_and_not_found_there_is_late_and_then_red(recipient: Simulator) -> None:
    settings = {"url": recipient.url, "dedupe_window_s": 3_600}
    make_channel(adapter="simulator", settings=settings, probe_to="room:probes")
    record_due()
    sweep()
    recipient.forget()
    look_for_all()
    pass_s(301)
    late = seen()
    pass_s(600)

    assert (late.state, seen().state) == (State.LATE, State.RED)
    assert "accepted, and absent there" in late.sentence


def test_a_probe_that_no_worker_takes_is_part_of_that_alarm() -> None:
    probed()
    record_due()
    beat(ago_s=200)
    pass_s(301)

    assert (seen().state, seen().because) == (State.LATE, "worker")


def test_a_probe_in_doubt_asks_no_person_and_the_next_has_its_turn(desk: senders.Desk) -> None:
    desk.script("tg:probes", RuntimeError("the line broke"))
    probed()
    record_due()
    sweep()
    assert Delivery.objects.get().status == S.UNKNOWN
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE ledgers_delivery SET unknown_since = unknown_since - interval '2 hours'"
        )
    assert [one.state for one in findings(read_figures()) if one.check == "unknown"] == [State.OK]

    next_turn()
    record_due()
    make_due()
    sweep()

    first = Delivery.objects.order_by("pk")[0]
    assert first.decision == "leave"


def test_it_counts_as_no_success_of_its_channel() -> None:
    channel = probed()
    record_due()
    sweep()

    numbers = per_channel()[channel.pk]
    assert (numbers.used, numbers.last_success) == (False, None)
    assert read_figures().channels[0].last_success is None


@pytest.mark.parametrize(
    "stopped",
    [{"paused_at": "2026-12-01T00:00:00Z", "pause_reason": "x"}, {"requires_approval": True}],
)
def test_a_channel_that_a_person_stopped_is_not_probed(stopped: dict[str, Any]) -> None:
    probed(**stopped)

    assert record_due() == 0
    assert not [one for one in findings(read_figures()) if one.check == "probe"]


def test_while_everything_is_held_nothing_is_probed() -> None:
    probed()
    Installation.objects.update(held_at="2026-12-01T00:00:00Z", held_reason="drill")

    assert record_due() == 0


def test_a_watch_that_pushes_probes_and_one_that_looks_does_not() -> None:
    probed()
    read_figures()
    assert not Probe.objects.exists()

    push()

    assert Delivery.objects.get().destination == "tg:probes"


def test_that_nobody_records_probes_any_more_is_told() -> None:
    probed()
    record_due()
    sweep()
    look_for_all()
    pass_s(8_000)

    assert seen().sentence.startswith("No probe of channel alerts has been recorded for 2 h 13 min")


def test_a_destination_that_its_credential_may_not_reach_is_refused_at_the_field() -> None:
    channel = make_channel(rules=["tg:1*"])
    channel.probe_to = "tg:probes"

    with pytest.raises(ValidationError, match="no destination rule") as refused:
        channel.full_clean()

    assert list(refused.value.message_dict) == ["probe_to"]


def test_letting_a_machine_send_probes_takes_two_people_and_stopping_it_one() -> None:
    assert widens("channel", "probe_to", "", "tg:probes")
    assert widens("channel", "probe_every_s", 3_600, 60)
    assert not widens("channel", "probe_to", "tg:probes", "")
    assert not widens("channel", "probe_every_s", 60, 3_600)
