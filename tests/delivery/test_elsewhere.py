"""A channel that is pointed elsewhere protects and clears nothing that went before."""

from datetime import timedelta

import pytest

from delivery.simulator.client import Simulator
from ledgers.models import Attempt, Channel, Evidence
from tests.factories import delivery, make_channel, make_due, record, sweep

pytestmark = pytest.mark.django_db(transaction=True)


def simulated(recipient: Simulator, **fields: object) -> Channel:
    settings = {"url": recipient.url, "dedupe_window_s": 3600} | fields
    return make_channel(adapter="simulator", settings=settings, lease_s=7, retry_schedule=[60])


def test_the_same_key_is_not_sent_to_another_endpoint(recipient: Simulator) -> None:
    channel = simulated(recipient)
    recipient.behave("room:ops", "accept_and_reset")
    record(["room:ops"])
    sweep()
    age_attempt()

    with Simulator.start() as other:
        Channel.objects.filter(pk=channel.pk).update(
            settings={**channel.settings, "url": other.url}
        )
        make_due()
        sweep()
        elsewhere = other.submissions()

    assert (elsewhere, recipient.effects("room:ops")) == (0, 1)
    assert delivery("room:ops").status == "unknown"


def test_a_search_elsewhere_that_finds_nothing_clears_nothing(recipient: Simulator) -> None:
    channel = simulated(recipient, dedupe_window_s=0)
    Channel.objects.update(look_up_schedule=[0], resend_after_absent="automatic")
    recipient.behave("room:ops", "accept_and_reset")
    record(["room:ops"])
    sweep()
    age_attempt()

    with Simulator.start() as other:
        Channel.objects.filter(pk=channel.pk).update(
            settings={**channel.settings, "url": other.url}
        )
        make_due()
        sweep()
        elsewhere = other.submissions()

    assert Evidence.objects.filter(verdict="absent").exists()
    assert (elsewhere, delivery("room:ops").status) == (0, "unknown")


def age_attempt() -> None:
    """As if the attempt had been made an hour ago; its trigger is lifted for that moment."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        Attempt.objects.update(
            opened_at=Attempt.objects.get().opened_at - timedelta(minutes=30),
            closed_at=Attempt.objects.get().opened_at - timedelta(minutes=30),
            lease_until=Attempt.objects.get().lease_until - timedelta(minutes=30),
        )
        cursor.execute("SET session_replication_role = origin")
