"""Take the pictures of the handbook anew: `make pictures`, while `make demo` serves.

They show the sample day, so whoever runs the demo sees the same. What is clicked on the way there
is taken back.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import django
from playwright.sync_api import Page, ViewportSize

from tests.browser import chromium

WIDTH = 1440
FOLDER = Path(__file__).resolve().parents[2] / "docs" / "images"
CONSOLE = "http://127.0.0.1:8000"
Clicks = Callable[[Page], None]


@dataclass(frozen=True)
class Picture:
    """One file. `who`: an account of the demo; `path`: of its page; `height`: in pixels.

    `before`: clicks that lead on from the page; `after`: those that take them back.
    """

    name: str
    who: str
    path: str
    height: int
    before: Clicks | None = None
    after: Clicks | None = None


def pictures() -> list[Picture]:
    """Each picture, with its page as the demo's ledgers have it now."""
    from django.urls import reverse

    from ledgers.models import Delivery
    from reviews.kinds import Stage
    from reviews.proposals import Proposal
    from reviews.records import Decision

    def unknown(channel: str) -> str:
        rows = Delivery.objects.filter(status="unknown", message__channel__slug=channel)
        return reverse("admin:delivery", args=[rows.latest("unknown_since").delivery_id])

    asked = Decision.objects.filter(stage=Stage.REQUESTED).latest("pk")
    change = Proposal.objects.filter(stage=Stage.REQUESTED).latest("pk")
    triage, closing = reverse("admin:triage"), unknown("customer-mail")
    return [
        Picture("overview", "nina.berg", reverse("admin:overview"), 1180),
        Picture("triage", "nina.berg", triage, 900),
        Picture("delivery", "nina.berg", unknown("demo-rooms"), 1180),
        Picture("incident", "nina.berg", triage, 900, select_all),
        Picture("approval", "omar.haddad", reverse("admin:decision", args=[asked.pk]), 780),
        Picture("change", "omar.haddad", reverse("admin:proposal", args=[change.pk]), 720),
        Picture("resume", "ada.lind", reverse("admin:channel", args=["partner-feed"]), 900),
        Picture("confirm", "nina.berg", closing, 700, send_again),
        Picture("undo", "nina.berg", closing, 700, confirm, undo),
    ]


def select_all(page: Page) -> None:
    page.get_by_role("button", name=re.compile("^Decide about 38$")).click()


def send_again(page: Page) -> None:
    page.get_by_role("radio", name="send again, with the same key").check()
    page.get_by_label("Reason (required)").fill("the window closes in half an hour")
    page.get_by_role("button", name="Go on").click()


def confirm(page: Page) -> None:
    send_again(page)
    page.get_by_role("button", name="Confirm: send again, with the same key").click()


def undo(page: Page) -> None:
    page.get_by_role("button", name=re.compile("^Undo")).click()


def main() -> int:
    """Exit code 0 once every picture is taken."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--console", default=CONSOLE, help="where it is served (%(default)s)")
    parser.add_argument("names", nargs="*", help="only these pictures")
    said = parser.parse_args()
    # The demo's own ledgers, whatever .env says.
    os.environ.update({"COUNTERFOIL_DATA": ".data/demo", "DATABASE_URL": ""})
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()
    from config.demo.sample import refuse_unless_sample

    refuse_unless_sample()
    # All that is asked of the ledgers, before Playwright keeps an event loop in this thread.
    wanted = [
        (one, cookie(one.who)) for one in pictures() if one.name in (said.names or [one.name])
    ]
    with chromium.browser() as browser:
        for one, session in wanted:
            size = ViewportSize(width=WIDTH, height=one.height)
            context = browser.new_context(
                base_url=said.console, viewport=size, color_scheme="light", locale="en-GB"
            )
            context.add_cookies(
                [{"name": "counterfoil_session", "value": session, "url": said.console}]
            )
            take(context.new_page(), one)
            context.close()
            sys.stdout.write(f"docs/images/{one.name}.png\n")
    return 0


def cookie(username: str) -> str:
    """A session of this account, without its password."""
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client()
    client.force_login(
        User.objects.get(username=username), "django.contrib.auth.backends.ModelBackend"
    )
    return client.cookies["counterfoil_session"].value


def take(page: Page, one: Picture) -> None:
    """Open it, click there, keep what is seen, and take the clicks back."""
    page.goto(one.path, wait_until="networkidle")
    if "/login/" in page.url:
        sys.exit(f"{page.url} is another console than this demo's: name it with --console")
    if one.before:
        one.before(page)
        page.wait_for_load_state("networkidle")
    page.screenshot(path=FOLDER / f"{one.name}.png", animations="disabled")
    if one.after:
        one.after(page)
        page.wait_for_load_state("networkidle")


if __name__ == "__main__":
    sys.exit(main())
