"""What looks at every page does see what is wrong with one."""

import pytest

from tests.browser.chromium import RULES
from tests.browser.faults import AXE, OVERFLOW
from tests.browser.window import Console, opened, window

FAULTS = {
    "a style in the page": (
        "document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">x</p>')",
        "style-src",
    ),
    "a script in the page": (
        "document.body.append(Object.assign(document.createElement('script'), {text: '1'}))",
        "script-src",
    ),
    "an image from elsewhere": ("new Image().src = 'http://elsewhere.example/x.png'", "img-src"),
    "an error": ("console.error('oh no')", "oh no"),
    "a surprise": ("setTimeout(() => { throw new Error('surprise') })", "surprise"),
}


@pytest.mark.parametrize(("done", "word"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_the_page_is_a_complaint(console: Console, done: str, word: str) -> None:
    with window(console.browser, console.origin) as (page, watch):
        opened(page, "/")
        assert watch.complaints(page) == []

        page.evaluate(done)
        page.wait_for_timeout(50)  # what it leads to is said a moment later

        assert any(word in complaint for complaint in watch.complaints(page))


def test_what_is_too_wide_and_what_nobody_can_read_is_found(console: Console, axe: str) -> None:
    with window(console.browser, console.origin, size="phone") as (page, _):
        opened(page, "/")
        page.evaluate(axe)
        page.locator("main h1").evaluate(
            "(el) => { el.style.width = '900px'; el.style.color = '#eee'; }"
        )

        assert any("H1 . reaches" in fault for fault in page.evaluate(OVERFLOW))
        assert any("color-contrast" in fault for fault in page.evaluate(AXE, RULES))
