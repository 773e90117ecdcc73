"""Themes by hand, the menu of a phone, and times as somebody likes them."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from delivery.simulator.client import Simulator
from tests.browser.chromium import COLOURS
from tests.browser.faults import AXE
from tests.browser.window import THEMES, Console
from tests.reviews.scenes import BLIND, channel, unknown


@pytest.mark.parametrize("theme", THEMES)
def test_a_theme_chosen_by_hand_is_readable_whatever_the_system_says(
    console: Console, recipient: Simulator, axe: str, theme: str
) -> None:
    channel(recipient, settings=BLIND)
    unknown(recipient)
    other = "dark" if theme == "light" else "light"
    with console.opened("/", theme=other) as page:
        page.evaluate("(theme) => localStorage.setItem('theme', theme)", theme)
        for path in ("/", reverse("admin:triage"), reverse("admin:trail"), "/ledgers/delivery/"):
            page.goto(path)
            page.evaluate(axe)

            assert page.locator("html").get_attribute("data-theme") == theme
            assert page.evaluate(AXE, COLOURS) == []


def test_on_a_phone_the_menu_is_a_sheet_that_opens_without_scripts(console: Console) -> None:
    with console.opened("/", size="phone", scripts=False) as page:
        trail = page.get_by_role("link", name="Trail", exact=True)
        expect(trail).to_be_hidden()

        page.get_by_role("button", name="Menu").click()
        trail.click()

        expect(page).to_have_url(re.compile("/trail/$"))


def test_times_are_shown_as_somebody_likes_them_and_stay_so(
    console: Console, recipient: Simulator
) -> None:
    channel(recipient, settings=BLIND)
    unknown(recipient)
    with console.opened(reverse("admin:triage")) as page:
        moment = page.locator("time").first
        expect(moment).to_have_text(re.compile(r"^\d+ s ago$|^just now$"))

        page.get_by_role("button", name="UTC").click()
        _is_utc(page)
        page.reload()
        _is_utc(page)


def _is_utc(page: Page) -> None:
    expect(page.locator("time").first).to_have_text(
        re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$")
    )


def test_an_id_is_copied_by_its_button(console: Console, recipient: Simulator) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    with console.opened(reverse("admin:delivery", args=[row.delivery_id])) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        button = page.locator(f"[data-cf-copy='{row.delivery_id}']")
        button.click()
        expect(button).to_have_text("copied")

        assert page.evaluate("navigator.clipboard.readText()") == str(row.delivery_id)
