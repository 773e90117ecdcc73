"""Every page, in light and dark, on a desk and on a phone."""

import pytest
from django.db import connection
from django.test import Client, override_settings
from django.urls import reverse
from playwright.sync_api import Browser

from tests.browser.addresses import Address, every
from tests.browser.faults import all_faults
from tests.browser.window import opened, window

pytestmark = pytest.mark.usefixtures("night")


@pytest.mark.parametrize("one", list(every()), ids=lambda one: one.name)
def test_a_page_is_whole_readable_light_and_keeps_to_itself(
    browser: Browser, origin: str, axe: str, one: Address
) -> None:
    _look(browser, origin, axe, one)


def test_a_page_that_breaks_is_a_page(
    browser: Browser, origin: str, axe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks() -> None:
        raise RuntimeError("meant to break")

    monkeypatch.setattr("reviews.pages.channels.per_channel", breaks)

    _look(browser, origin, axe, Address("broken", lambda: reverse("admin:channels"), status=500))


def test_a_page_that_is_too_slow_is_a_page(
    browser: Browser, origin: str, axe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reviews.pages.channels.per_channel", _slow)

    with override_settings(COUNTERFOIL_PATIENCE_S=0.2):
        _look(browser, origin, axe, Address("slow", lambda: reverse("admin:channels"), status=503))


def test_a_locked_door_is_a_page(browser: Browser, origin: str, axe: str) -> None:
    login = reverse("admin:login")
    for n in range(11):
        Client().post(login, {"username": "locked", "password": f"wrong {n}"})
    with window(browser, origin, "anonymous") as (page, watch):
        opened(page, login)
        page.get_by_label("Username").fill("locked")
        page.get_by_label("Password").fill("wrong again")
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("heading", name="Locked for a while").wait_for()

        assert all_faults(page, axe) == []
        assert not watch.complaints(page, 429)


def _look(browser: Browser, origin: str, axe: str, one: Address) -> None:
    with window(browser, origin, one.role) as (page, watch):
        answer = opened(page, one.find())
        wrong = all_faults(page, axe)

        assert answer.status == one.status
        assert len(answer.body()) <= one.budget
        if wrong:
            pytest.fail("\n".join(wrong), pytrace=False)
        assert not watch.complaints(page, one.status)


def _slow() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(5)")
