"""The stock lists and records on the console's site: their look, their order, and their counts."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from ledgers.admin import reading
from ledgers.models import Channel, Delivery, Run
from ledgers.states import DeliveryStatus as S
from tests.admin.pages import page, page_of
from tests.factories import record
from tests.ledgers.rows import row_in

pytestmark = pytest.mark.django_db


def test_a_status_looks_the_same_as_on_the_consoles_own_pages(
    admin: Client, channel: Channel
) -> None:
    row_in(S.UNKNOWN)

    text = admin.get(page(Delivery, "changelist")).content.decode()

    assert '<span class="cf-status cf-unknown">' in text
    assert 'href="#cf-ask"' in text
    assert 'id="cf-ask"' in text


def test_records_lead_to_their_pages_of_the_console(admin: Client, channel: Channel) -> None:
    row = record()[0]
    for one, name, arg in (
        (row, "delivery", row.delivery_id),
        (Run.objects.get(), "run", Run.objects.get().pk),
        (channel, "channel", "alerts"),
    ):
        text = admin.get(page_of(one)).content.decode()
        assert f'href="{reverse(f"admin:{name}", args=[arg])}"' in text


def test_a_long_list_is_counted_no_further_than_anybody_pages(
    admin: Client, channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "COUNTED", 2)
    record(["tg:1", "tg:2", "tg:3"])

    answer: Any = admin.get(page(Delivery, "changelist"))

    assert answer.context["cl"].result_count == 2
    assert "2+" in answer.content.decode()


@pytest.mark.parametrize(("term", "count"), [("tg:1", 2), ("tg:", 3), ("g:", 0), ("tg:12", 1)])
def test_a_search_finds_how_a_destination_begins(
    admin: Client, channel: Channel, term: str, count: int
) -> None:
    record(["tg:1", "tg:12", "tg:3"])

    answer: Any = admin.get(page(Delivery, "changelist"), {"q": term})

    assert answer.context["cl"].result_count == count


def test_no_list_of_records_is_sorted_by_what_no_index_serves(
    admin: Client, channel: Channel
) -> None:
    record(["tg:1", "tg:2"])

    answer: Any = admin.get(page(Delivery, "changelist"), {"o": "2"})

    assert "sortable" not in answer.content.decode()


@pytest.mark.parametrize("path", ["/no/such/place/", "/channels/nowhere/"])
def test_a_page_that_is_not_there_says_so_in_the_consoles_own_way(admin: Client, path: str) -> None:
    answer = admin.get(path)

    assert answer.status_code == 404
    assert "Go to the overview" in answer.content.decode()


def test_a_page_that_broke_says_that_nothing_was_sent(
    admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise RuntimeError("out of paper")

    monkeypatch.setattr("reviews.pages.channels.per_channel", broken)
    admin.raise_request_exception = False

    answer = admin.get(reverse("admin:channels"))

    assert answer.status_code == 500
    assert "Nothing was sent by this" in answer.content.decode()
    assert "out of paper" not in answer.content.decode()
