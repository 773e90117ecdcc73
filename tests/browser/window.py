"""A window of the browser in which somebody is signed in, and what it must never do."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from playwright.sync_api import Browser, BrowserContext, Page, Response

from tests.console.people import browser_of

SIZES = {"wide": (1440, 900), "phone": (390, 844)}
THEMES = ("light", "dark")

# Asked of the page itself, since a policy that is only reported would not be in the console.
_LISTEN = """
window.cfViolations = [];
document.addEventListener("securitypolicyviolation",
  (e) => window.cfViolations.push(`${e.violatedDirective}: ${e.blockedURI}`));
"""


class Watch:
    """Everything that a window says and asks for, but should not."""

    def __init__(self, context: BrowserContext, origin: str) -> None:
        self._origin = origin
        self._said: list[str] = []
        self.requests: list[str] = []
        context.on("console", self._console)
        context.on("weberror", lambda error: self._said.append(f"uncaught: {error.error}"))
        context.on("request", lambda request: self.requests.append(request.url))

    def _console(self, message: Any) -> None:
        if message.type in {"error", "warning"}:
            self._said.append(f"{message.type}: {message.text}")

    def complaints(self, page: Page, status: int = 200) -> list[str]:
        """What went wrong so far; that the expected status came does not count."""
        said = [text for text in self._said if status < 400 or str(status) not in text]
        foreign = {url for url in self.requests if not url.startswith(self._origin)}
        violations: list[str] = page.evaluate("window.cfViolations || []")
        return [*said, *violations, *(f"asks {url}" for url in foreign if url[:5] != "data:")]


@contextmanager
def window(
    browser: Browser,
    origin: str,
    role: str = "superuser",
    *,
    size: str = "wide",
    theme: str = "light",
    scripts: bool = True,
) -> Iterator[tuple[Page, Watch]]:
    """A new window without any memory, signed in as somebody of this role."""
    width, height = SIZES[size]
    context = browser.new_context(
        base_url=origin,
        viewport={"width": width, "height": height},
        color_scheme="dark" if theme == "dark" else "light",
        reduced_motion="reduce",  # a colour that is on its way is neither the old nor the new one
        java_script_enabled=scripts,
        locale="en-GB",
    )
    context.set_default_timeout(15_000)
    context.add_init_script(_LISTEN)
    sign_in(context, origin, role)
    watch = Watch(context, origin)
    try:
        yield context.new_page(), watch
    finally:
        context.close()


@dataclass(frozen=True)
class Console:
    """The console as it is served, and the browser that opens it."""

    browser: Browser
    origin: str

    @contextmanager
    def opened(
        self, address: str, role: str = "triager", *, status: int = 200, **how: Any
    ) -> Iterator[Page]:
        """A window at this address; nothing may have gone wrong in it by its end.

        Its clock can be moved, so that nobody waits for a refresh. `status`: what some of its
        requests are meant to be answered.
        """
        with window(self.browser, self.origin, role, **how) as (page, watch):
            page.clock.install()
            opened(page, address)
            yield page
            assert not watch.complaints(page, status)


def sign_in(context: BrowserContext, origin: str, role: str) -> None:
    """Give the window the session of somebody of this role, as if they had signed in before."""
    if role == "anonymous":
        return
    name = settings.SESSION_COOKIE_NAME
    value = browser_of(role).cookies[name].value
    context.add_cookies([{"name": name, "value": value, "url": origin}])


def opened(page: Page, address: str) -> Response:
    """Go there, and wait until everything that the page names is loaded."""
    response = page.goto(address, wait_until="load")
    assert response is not None
    return response
