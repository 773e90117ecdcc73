"""The browser of the tests: Debian's Chromium, and axe-core from a pinned package."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files

import pytest
from playwright.sync_api import Browser, Error, Playwright, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
MISSING = "no Chromium is installed: `sh .ci/install-browser` as root, or `apt install chromium`"
# Root has no sandbox of its own; and nothing of the browser's own may be taken for the page's.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# WCAG 2.0, 2.1 and 2.2, A and AA.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"]
COLOURS = ["color-contrast", "link-in-text-block"]


def found() -> str | None:
    """Where a Chromium is, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """One browser for all tests; each test gets windows of its own."""
    path = found()
    if path is None:
        pytest.skip(MISSING)
    with sync_playwright() as playwright, _launched(playwright, path) as one:
        yield one


@contextmanager
def _launched(playwright: Playwright, path: str) -> Iterator[Browser]:
    try:
        one = playwright.chromium.launch(executable_path=path, args=FLAGS)
    except Error as error:
        pytest.fail(f"{path} does not start: {error}")
    yield one
    one.close()


def axe_source() -> str:
    """The text of axe-core."""
    return files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
