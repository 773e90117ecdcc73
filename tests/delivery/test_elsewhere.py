"""A channel that is pointed elsewhere protects and clears nothing that went before."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F

from delivery.simulator.client import Simulator
from ledgers.models import Attempt, Channel, Delivery, Evidence
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
    """As if the attempt had been made half an hour ago; triggers are lifted for that moment."""
    half_an_hour = timedelta(minutes=30)
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        Attempt.objects.update(
            opened_at=F("opened_at") - half_an_hour,
            closed_at=F("closed_at") - half_an_hour,
            lease_until=F("lease_until") - half_an_hour,
        )
        Delivery.objects.update(key_first_used_at=F("key_first_used_at") - half_an_hour)
        cursor.execute("SET session_replication_role = origin")
