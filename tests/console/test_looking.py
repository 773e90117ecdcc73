"""Looking at a destination from its delivery's page, by forms alone."""

import pytest
from django.test import Client

from delivery.simulator.client import Simulator
from ledgers.models import Delivery, Evidence, OutboxItem
from tests.console.forms import page, text
from tests.factories import delivery
from tests.reviews.scenes import (
    BLIND,
    ROOM,
    channel,
    settle_delay_over,
    unknown,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_opening_the_page_asks_nobody_and_changes_nothing(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient, look_up_schedule=[])
    (row,) = unknown(recipient)
    before = Delivery.objects.values().get(pk=row.pk)

    for _ in range(3):
        triager.get(page("delivery", row.delivery_id))
        triager.head(page("delivery", row.delivery_id))

    assert not Evidence.objects.exists()
    assert Delivery.objects.values().get(pk=row.pk) == before


def test_looking_again_is_asked_for_and_done_once_in_30_seconds(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient, look_up_schedule=[])
    recipient.behave(ROOM, look_up="error", listing="error")
    (row,) = unknown(recipient)
    recipient.behave(ROOM, look_up="error", listing="error")

    first = triager.post(page("delivery_look", row.delivery_id), follow=True).content.decode()
    second = triager.post(page("delivery_look", row.delivery_id), follow=True).content.decode()

    assert "The destination was searched: inconclusive" in first
    assert "within the last 30 seconds" in second
    assert len(set(Evidence.objects.values_list("taken_at", flat=True))) == 1


def test_the_page_looks_by_itself_only_where_nobody_else_will(
    recipient: Simulator, triager: Client
) -> None:
    row = channel(recipient, look_up_schedule=[])
    (one,) = unknown(recipient)
    url = page("delivery", one.delivery_id)
    alone = text(triager, url)

    row.rate_per_s = 1
    row.save()
    limited = text(triager, url)
    row.rate_per_s, row.look_up_schedule = 0, [3600]
    row.save()
    scheduled = text(triager, url)

    assert 'hx-trigger="load' in alone
    assert 'hx-trigger="load' not in limited
    assert 'hx-trigger="load' not in scheduled


def test_a_page_that_looked_by_itself_is_shown_anew(recipient: Simulator, triager: Client) -> None:
    channel(recipient, look_up_schedule=[])
    (row,) = unknown(recipient)

    answer = triager.post(page("delivery_look", row.delivery_id), headers={"HX-Request": "true"})

    assert (answer.status_code, answer.headers["HX-Refresh"]) == (204, "true")
    assert delivery(ROOM).status == "delivered"


def test_a_worker_looks_when_a_person_wants_it(recipient: Simulator, triager: Client) -> None:
    channel(recipient, look_up_schedule=[])
    (row,) = unknown(recipient)

    said = triager.post(page("delivery_later", row.delivery_id), {"minutes": "15"}, follow=True)

    assert "searched again in 15 min" in said.content.decode()
    assert OutboxItem.objects.filter(pk=row.pk).exists()
    odd = triager.post(page("delivery_later", row.delivery_id), {"minutes": "999"})
    assert odd.status_code == 404


def test_the_last_evidence_is_a_chip(recipient: Simulator, triager: Client) -> None:
    channel(recipient, look_up_schedule=[])
    (row,) = unknown(recipient)
    unsearched = text(triager, page("triage"))
    recipient.behave(ROOM, look_up="error", listing="error")
    settle_delay_over(row)

    triager.post(page("delivery_look", row.delivery_id))

    assert "</svg>none yet</span>" in unsearched
    assert "</svg>error</span>" in text(triager, page("triage"))


def test_a_blind_channel_cannot_look(recipient: Simulator, triager: Client) -> None:
    channel(recipient, settings=BLIND)
    unknown(recipient)

    assert "cannot look" in text(triager, page("triage"))
