"""Every page, in light and dark, on a desk and on a phone."""

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.addresses import Address, every
from tests.browser.chromium import COLOURS, RULES
from tests.browser.faults import AXE, OVERFLOW
from tests.browser.window import SIZES, THEMES, opened, window

pytestmark = pytest.mark.usefixtures("night")


@pytest.mark.parametrize("one", list(every()), ids=lambda one: one.name)
def test_a_page_is_whole_readable_light_and_keeps_to_itself(
    browser: Browser, origin: str, axe: str, one: Address
) -> None:
    with window(browser, origin, one.role) as (page, watch):
        answer = opened(page, one.find())
        page.evaluate(axe)
        wrong = [
            fault for size in SIZES for theme in THEMES for fault in _faults(page, size, theme)
        ]

        assert answer.status == one.status
        assert len(answer.body()) <= one.budget
        if wrong:
            pytest.fail("\n".join(wrong), pytrace=False)
        assert not watch.complaints(page, one.status)


def _faults(page: Page, size: str, theme: str) -> list[str]:
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    # The layout is the same in the dark: only what depends on colours can differ.
    rules = COLOURS if theme == "dark" else RULES
    found = [*page.evaluate(AXE, rules), *page.evaluate(OVERFLOW)]
    return [f"{theme}, {size}: {fault}" for fault in found]
