"""Keys only move: they find, walk, show and open; not one of them changes anything."""

import string

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from delivery.simulator.client import Simulator
from ledgers.models import Delivery
from tests.browser.window import Console
from tests.factories import count_rows
from tests.reviews.scenes import BLIND, channel, unknown

ROOMS = ["room:a", "room:b", "room:c"]


@pytest.fixture
def rows(console: Console, recipient: Simulator) -> list[Delivery]:
    del console
    channel(recipient, settings=BLIND)
    return unknown(recipient, *ROOMS)


def test_j_and_k_walk_the_links_of_the_rows_and_enter_opens_one(
    console: Console, rows: list[Delivery]
) -> None:
    with console.opened(reverse("admin:triage")) as page:
        links = page.locator("tbody [data-cf-row]")
        for key, at in (("j", 0), ("j", 1), ("j", 2), ("j", 2), ("k", 1)):
            page.keyboard.press(key)
            expect(links.nth(at)).to_be_focused()
        page.keyboard.press("Enter")

        expect(page).to_have_url(
            f"{console.origin}{reverse('admin:delivery', args=[rows[1].delivery_id])}"
        )


def test_a_slash_leads_to_the_search_and_is_not_typed_into_it(
    console: Console, rows: list[Delivery]
) -> None:
    with console.opened("/") as page:
        page.keyboard.press("/")
        page.keyboard.type("room:b")

        expect(page.get_by_role("searchbox")).to_have_value("room:b")


def test_a_question_mark_shows_the_help_and_escape_puts_it_away(
    console: Console, rows: list[Delivery]
) -> None:
    with console.opened("/") as page:
        help_ = page.get_by_text("Keys only move.")
        expect(help_).to_be_hidden()

        page.keyboard.press("?")
        expect(help_).to_be_visible()

        page.keyboard.press("Escape")
        expect(help_).to_be_hidden()


def test_the_help_opens_by_its_button_without_scripts(console: Console) -> None:
    with console.opened("/", scripts=False) as page:
        page.get_by_role("button", name="Help").click()

        expect(page.get_by_text("Keys only move.")).to_be_visible()


def test_e_leads_to_what_the_destination_shows(console: Console, rows: list[Delivery]) -> None:
    with console.opened(reverse("admin:delivery", args=[rows[0].delivery_id])) as page:
        page.keyboard.press("e")

        expect(page.get_by_role("heading", name="What the destination shows")).to_be_focused()


def test_keys_are_letters_again_where_somebody_types(
    console: Console, rows: list[Delivery]
) -> None:
    with console.opened(reverse("admin:delivery", args=[rows[0].delivery_id])) as page:
        reason = page.get_by_label("Reason (required)")
        reason.click()
        page.keyboard.type("jk/e?")

        expect(reason).to_have_value("jk/e?")


@pytest.mark.parametrize("name", ["triage", "delivery"])
def test_no_single_key_changes_anything(console: Console, rows: list[Delivery], name: str) -> None:
    args = [rows[0].delivery_id] if name == "delivery" else []
    before = count_rows()
    asked: list[str] = []
    with console.opened(reverse(f"admin:{name}", args=args)) as page:
        page.on("request", lambda request: asked.append(request.method))
        for key in string.ascii_letters + string.digits + string.punctuation:
            page.evaluate("document.activeElement.blur()")
            page.keyboard.press(key)

    assert "POST" not in asked
    assert count_rows() == before
    assert not Delivery.objects.exclude(status="unknown").exists()
