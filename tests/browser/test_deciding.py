"""From an alert's link to a recorded decision, as a person goes: by looking, clicking, typing."""

import re
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from delivery.simulator.client import Simulator
from ledgers.models import Delivery, Event
from reviews.records import Assignment, Decision
from tests.browser.window import Console
from tests.console.people import person
from tests.factories import delivery, sweep
from tests.reviews.scenes import BLIND, ROOM, absent, channel, let_undo_end, unknown


class Hand:
    """What a person does on a page, counted."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.clicks = 0
        self.typed = 0

    def click(self, role: Any, name: str) -> None:
        self.clicks += 1
        self._target(role, name).click()

    def type(self, label: str, text: str) -> None:
        self.typed += 1
        self._page.get_by_label(label).fill(text)

    def _target(self, role: Any, name: str) -> Locator:
        return self._page.get_by_role("main").get_by_role(role, name=name)


@pytest.fixture
def row(console: Console, recipient: Simulator) -> Delivery:
    """One delivery that may have arrived, beside an incident on another channel."""
    del console
    channel(recipient, settings=BLIND)
    channel(recipient, slug="other", settings=BLIND)
    unknown(recipient, "room:a", "room:b", run_id="run-2", channel="other")
    return unknown(recipient)[0]


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_four_clicks_and_one_reason_lead_from_a_channels_alert_to_a_decision(
    console: Console, row: Delivery, scripts: bool
) -> None:
    alert = reverse("admin:triage") + "?channel=alerts"
    with console.opened(alert, scripts=scripts) as page:
        hand = Hand(page)
        hand.click("link", row.destination)
        hand.click("radio", "leave undelivered")
        hand.type("Reason (required)", "nobody needs it any more")
        hand.click("button", "Go on")
        hand.click("button", "Confirm: leave undelivered")
        expect(page.get_by_role("main")).to_contain_text("carried out")

    assert (hand.clicks, hand.typed) <= (4, 1)
    assert Decision.objects.get().reason == "nobody needs it any more"
    assert delivery(ROOM).decision == "leave"


def test_three_clicks_lead_from_the_link_of_a_delivery_to_a_decision(
    console: Console, row: Delivery
) -> None:
    with console.opened(reverse("admin:delivery", args=[row.delivery_id])) as page:
        hand = Hand(page)
        hand.click("radio", "leave undelivered")
        hand.type("Reason (required)", "nobody needs it any more")
        hand.click("button", "Go on")
        hand.click("button", "Confirm: leave undelivered")
        expect(page.get_by_role("main")).to_contain_text("carried out")

    assert (hand.clicks, hand.typed) == (3, 1)
    assert delivery(ROOM).decision == "leave"


def test_a_link_to_one_channel_shows_that_channel_alone(console: Console, row: Delivery) -> None:
    with console.opened(reverse("admin:triage") + "?channel=other") as page:
        listed = page.get_by_role("region", name="other: all of this channel").locator(
            "[data-cf-row]"
        )
        expect(listed).to_have_text(["room:a", "room:b"])

        page.get_by_role("link", name="Show all").click()

        expect(page.locator("tbody [data-cf-row]")).to_have_text(["room:a", "room:b", ROOM])


def test_a_double_click_on_confirm_decides_and_sends_once(
    console: Console, recipient: Simulator
) -> None:
    channel(recipient)
    row = absent(recipient)
    with console.opened(reverse("admin:delivery", args=[row.delivery_id])) as page:
        page.get_by_role("radio", name=re.compile("a complete search found nothing")).check()
        page.get_by_label("Reason (required)").fill("they wait for it")
        page.get_by_role("button", name="Go on").click()
        page.get_by_role("button", name=re.compile("^Confirm")).dblclick()
        expect(page.get_by_role("main")).to_contain_text("carried out")

    let_undo_end(row)
    sweep()

    assert Event.objects.filter(kind="decide").count() == 1
    assert recipient.effects(ROOM) == 1


def test_what_was_let_be_sent_is_counted_down_and_can_be_taken_back(
    console: Console, recipient: Simulator
) -> None:
    channel(recipient)
    row = absent(recipient)
    with console.opened(reverse("admin:delivery", args=[row.delivery_id])) as page:
        page.get_by_role("radio", name=re.compile("a complete search found nothing")).check()
        page.get_by_label("Reason (required)").fill("they wait for it")
        page.get_by_role("button", name="Go on").click()
        page.get_by_role("button", name=re.compile("^Confirm")).click()
        left = page.locator("[data-cf-left]")
        before = int(left.inner_text())
        page.clock.run_for(3_000)
        after = int(left.inner_text())
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("main")).to_contain_text("taken back")

    assert after <= before - 3
    assert recipient.submissions(ROOM) == 1


def test_the_page_of_a_decision_shows_what_became_of_it(
    console: Console, recipient: Simulator
) -> None:
    channel(recipient)
    row = absent(recipient)
    with console.opened(reverse("admin:delivery", args=[row.delivery_id])) as page:
        page.get_by_role("radio", name=re.compile("a complete search found nothing")).check()
        page.get_by_label("Reason (required)").fill("they wait for it")
        page.get_by_role("button", name="Go on").click()
        page.get_by_role("button", name=re.compile("^Confirm")).click()
        now = page.locator("[data-label=Now]")
        expect(now).to_have_text("pending")
        let_undo_end(row)
        sweep()

        page.clock.run_for(5_500)

        expect(now).to_have_text("delivered")


def test_the_next_one_is_the_most_urgent_that_nobody_has_taken(
    console: Console, row: Delivery
) -> None:
    with console.opened(reverse("admin:triage")) as page:
        page.get_by_role("button", name="Take the next one").click()
        expect(page.get_by_role("main")).to_contain_text("Taken by triager.")
        first = page.url
        page.goto(reverse("admin:triage"))
        page.get_by_role("button", name="Take the next one").click()
        expect(page.get_by_role("main")).to_contain_text("Taken by triager.")

        assert page.url != first

    assert list(Assignment.objects.values_list("delivery__destination", flat=True)) == [
        "room:a",
        "room:b",
    ]


def test_a_delivery_is_handed_over_and_the_trail_says_by_whom(
    console: Console, row: Delivery
) -> None:
    person("superuser")
    with console.opened(reverse("admin:delivery", args=[row.delivery_id])) as page:
        page.get_by_label("or hand it over to").select_option("superuser")
        page.get_by_role("button", name="Hand over").click()
        expect(page.get_by_role("main")).to_contain_text("Taken by superuser.")

    event = Event.objects.get(kind="assign")
    assert (event.actor, event.detail) == ("triager", {"to": "superuser"})
