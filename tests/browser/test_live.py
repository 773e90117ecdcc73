"""Live refresh: it is quiet when it should be, says when it is stale, and moves nothing."""

import re
from collections.abc import Callable

import pytest
from django.contrib.sessions.models import Session
from django.urls import reverse
from playwright.sync_api import Page, expect

from delivery.simulator.client import Simulator
from tests.browser.window import Console
from tests.reviews.scenes import BLIND, channel, unknown

LIVE = "**/overview/live/"
INTERVAL_MS = 10_500


def refreshes(page: Page) -> list[str]:
    """A list that grows with each refresh of the overview."""
    seen: list[str] = []
    page.on("request", lambda one: seen.append(one.url) if "/live/" in one.url else None)
    return seen


def pause(page: Page) -> None:
    page.get_by_label("pause refreshing").check()


def focus(page: Page) -> None:
    page.get_by_role("main").get_by_role("link", name="Overdue").focus()


def hide(page: Page) -> None:
    page.evaluate("Object.defineProperty(document, 'hidden', {get: () => true})")


def test_the_overview_refreshes_by_itself_and_says_when(console: Console) -> None:
    with console.opened("/") as page:
        with page.expect_response(LIVE):
            page.clock.run_for(INTERVAL_MS)

        expect(page.locator(".cf-stamp")).to_have_text(re.compile(r"^updated \d\d:\d\d:\d\d UTC$"))


@pytest.mark.parametrize("be_quiet", [pause, focus, hide])
def test_it_is_quiet_while_somebody_reads_has_paused_it_or_is_elsewhere(
    console: Console, be_quiet: Callable[[Page], None]
) -> None:
    with console.opened("/") as page:
        seen = refreshes(page)
        be_quiet(page)

        page.clock.run_for(3 * INTERVAL_MS)

        assert seen == []


def test_three_misses_turn_the_stamp_red_and_an_answer_turns_it_back(console: Console) -> None:
    with console.opened("/", status=503) as page:
        box, stamp = page.locator("[data-cf-live]"), page.locator(".cf-stamp")
        calm = stamp.evaluate("(el) => getComputedStyle(el).color")
        page.route(LIVE, lambda route: route.fulfill(status=503, body="busy"))
        for _ in range(2):
            with page.expect_response(LIVE):
                page.clock.run_for(INTERVAL_MS)
        expect(box).not_to_have_attribute("data-cf-stale", "")

        with page.expect_response(LIVE):
            page.clock.run_for(INTERVAL_MS)
        expect(box).to_have_attribute("data-cf-stale", "")
        assert stamp.evaluate("(el) => getComputedStyle(el).color") != calm

        page.unroute(LIVE)
        with page.expect_response(LIVE):
            page.clock.run_for(INTERVAL_MS)
        expect(box).not_to_have_attribute("data-cf-stale", "")
        assert stamp.evaluate("(el) => getComputedStyle(el).color") == calm


def test_a_session_that_ended_leads_to_the_sign_in_page_as_a_whole(console: Console) -> None:
    with console.opened("/") as page:
        Session.objects.all().delete()
        page.clock.run_for(INTERVAL_MS)

        expect(page).to_have_url(re.compile(r"/login/\?next="))
        expect(page.locator("#cf-menu")).to_have_count(0)


def test_what_is_new_waits_above_the_list_and_never_moves_it(
    console: Console, recipient: Simulator
) -> None:
    channel(recipient, settings=BLIND)
    channel(
        recipient, slug="keyed", settings={**BLIND, "dedupe_window_s": 900}, retry_schedule=[900]
    )
    unknown(recipient, "room:a", "room:b")
    with console.opened(reverse("admin:triage")) as page:
        rows = page.locator("tbody [data-cf-row]")
        expect(rows).to_have_text(["room:a", "room:b"])
        unknown(recipient, "room:urgent", run_id="run-2", channel="keyed")

        with page.expect_response("**/triage/news/**"):
            page.clock.run_for(INTERVAL_MS)
        expect(page.get_by_role("status").filter(has_text="1 new")).to_be_visible()
        expect(rows).to_have_text(["room:a", "room:b"])

        page.get_by_role("link", name="Load").click()
        expect(rows).to_have_text(["room:urgent", "room:a", "room:b"])
