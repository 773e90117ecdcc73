"""Both ledgers can be looked at from every side, and changed from none."""

from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext

from ledgers.models import Attempt, Delivery, Event, Evidence, Message, OutboxItem, Run, Step
from tests.admin.pages import READ_ONLY, REGISTERED, page, page_of
from tests.factories import delivery, record, sweep

pytestmark = pytest.mark.usefixtures("lived")


@pytest.mark.parametrize("model", REGISTERED, ids=lambda m: m.__name__)
def test_every_list_and_every_page_opens(browser: Client, model: type[Model]) -> None:
    row = model._default_manager.first()

    assert browser.get(page(model, "changelist")).status_code == 200
    searched = browser.get(page(model, "changelist"), {"q": "room:a"})
    assert searched.status_code == (200 if admin.site._registry[model].search_fields else 400)
    if row is not None:
        assert browser.get(page_of(row)).status_code == 200
        assert browser.get(page_of(row, "history")).status_code == 200


@pytest.mark.parametrize("model", READ_ONLY, ids=lambda m: m.__name__)
def test_nobody_adds_changes_or_deletes_a_record(browser: Client, model: type[Model]) -> None:
    row = model._default_manager.latest("pk")
    before = model._default_manager.filter(pk=row.pk).values().get()
    selected: dict[str, Any] = {"action": "delete_selected", "_selected_action": [row.pk]}

    assert browser.get(page(model, "add")).status_code == 403
    assert browser.post(page(model, "add"), {}).status_code == 403
    assert browser.post(page_of(row), {"status": "delivered"}).status_code == 403
    assert browser.post(page_of(row, "delete"), {"post": "yes"}).status_code == 403
    assert browser.post(page(model, "changelist"), selected).status_code in {200, 302, 403}
    assert model._default_manager.filter(pk=row.pk).values().get() == before


def test_a_stranger_sees_nothing() -> None:
    for model in REGISTERED:
        assert Client().get(page(model, "changelist")).status_code == 302


def test_rows_are_linked_along_the_life_of_a_delivery(browser: Client) -> None:
    row = delivery("room:b")
    message, run = row.message, row.message.step.run
    attempt, evidence = row.attempts.get(), row.evidence.last()
    assert evidence is not None

    def shown(from_: Model, *to: Model) -> bool:
        text = browser.get(page_of(from_)).content.decode()
        return all(f'href="{page_of(one)}"' in text for one in to)

    assert shown(run, message.step)
    assert shown(message.step, run, message, message.channel)
    assert shown(message, run, message.step, message.channel)
    assert shown(row, run, message, message.channel, attempt, evidence, *row.events.all())
    assert shown(attempt, row)
    assert shown(evidence, row)
    assert shown(row.events.get(kind="begin"), row, attempt)
    assert shown(OutboxItem.objects.latest("pk"), delivery("room:later", "run-2"))


def test_what_happened_to_a_delivery_stands_in_the_order_of_time(browser: Client) -> None:
    text = browser.get(page_of(delivery("room:b"))).content.decode()

    steps = [">record<", ">begin<", ">attempt 1: ambiguous<", ">suspect<", ">surface_scan<"]
    places = [text.index(step) for step in steps]
    assert places == sorted(places)


def test_a_runs_counts_lead_to_exactly_those_deliveries(browser: Client) -> None:
    run = Run.objects.get(run_id="run-1")
    link = f"?message__step__run__id__exact={run.pk}&amp;status__exact=unknown"
    assert link in browser.get(page_of(run)).content.decode()

    listed = browser.get(
        page(Delivery, "changelist"),
        {"message__step__run__id__exact": str(run.pk), "status__exact": "unknown"},
    )

    assert [row.destination for row in listed.context["cl"].result_list] == ["room:b"]


def test_content_is_escaped_and_capped(browser: Client) -> None:
    text = browser.get(page_of(Message.objects.earliest("pk"))).content.decode()

    assert "<script>alert(1)" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "more characters" in text
    assert "x" * 5_000 not in text


@pytest.mark.parametrize("name", ["delivery_id", "recognizer", "idempotency_key"])
def test_a_pasted_name_finds_its_delivery_alone(browser: Client, name: str) -> None:
    row = delivery("room:b")

    listed = browser.get(page(Delivery, "changelist"), {"q": str(getattr(row, name))})

    assert [found.pk for found in listed.context["cl"].result_list] == [row.pk]


@pytest.mark.parametrize(
    "query",
    [
        {"pk__regex": "("},
        {"id__gt": "0"},
        {"message__payload__contains": "secret"},
        {"message__channel__credential__secret_ref__startswith": "e"},
        {"status__exact": "\x00"},
        {"outcome__exact": "\x00"},
        {"verdict__exact": "\x00"},
        {"o": "1.-99.x"},
        {"p": "-1"},
        {"e": "1"},
        {"q": "\x00"},
        {"q": "'; --"},
        {"q": "\ud800".encode("utf-8", "surrogatepass").decode("latin-1")},
        {"message__channel__id__exact": "x"},
        {"message__channel__id__exact": "9" * 40},
        {"message__step__run__id__exact": "x"},
        {"delivery__id__exact": "'"},
    ],
)
def test_no_query_string_is_a_server_error(browser: Client, query: dict[str, str]) -> None:
    for model in REGISTERED:
        assert browser.get(page(model, "changelist"), query).status_code in {200, 302, 400}


@pytest.mark.parametrize("pk", ["x", "0", "9" * 30, "%00", "1%27"])
def test_a_page_of_nothing_leads_home(browser: Client, pk: str) -> None:
    for model in REGISTERED:
        assert browser.get(page(model, "change", pk)).status_code == 302


@pytest.mark.parametrize(
    "model", [Attempt, Delivery, Event, Evidence, Message, OutboxItem, Run, Step],
    ids=lambda m: m.__name__,
)  # fmt: skip
def test_a_list_costs_the_same_however_long_it_is(browser: Client, model: type[Model]) -> None:
    browser.get(page(model, "changelist"))
    with CaptureQueriesContext(connection) as before:
        browser.get(page(model, "changelist"))

    for n in range(5):
        record([f"room:{n}"], run_id=f"more-{n}")
    sweep()
    record(["room:new"], run_id="more-new")
    with CaptureQueriesContext(connection) as after:
        browser.get(page(model, "changelist"))

    assert len(after) == len(before)


def test_the_pages_of_the_task_queue_and_the_installation_are_not_there() -> None:
    shown = {model._meta.label for model in admin.site._registry}

    assert not any(label.startswith("django_q.") for label in shown)
    assert "ledgers.Installation" not in shown


@pytest.mark.parametrize("model", READ_ONLY, ids=lambda m: m.__name__)
def test_a_record_offers_no_history_of_changes_made_here(
    browser: Client, model: type[Model]
) -> None:
    row = model._default_manager.latest("pk")

    assert "historylink" not in browser.get(page_of(row)).content.decode()


def test_moments_are_shown_to_the_second_with_their_zone(browser: Client) -> None:
    event = Event.objects.latest("pk")

    shown = browser.get(page_of(event)).content.decode()

    assert f"{event.at:%Y-%m-%d %H:%M:%S} UTC" in shown


def test_the_icon_that_browsers_ask_for_on_their_own_is_there() -> None:
    answer = Client().get("/favicon.ico")

    assert (answer.status_code, answer["Location"]) == (302, "/static/console/icon.svg")
