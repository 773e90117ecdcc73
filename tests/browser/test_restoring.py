"""After a restore: from the banner to what is in doubt, a decision about a group, and going on."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from delivery import restoring
from delivery.simulator.client import Simulator
from ledgers import instance
from ledgers.models import Installation
from reviews.records import Decision
from tests.browser.faults import all_faults
from tests.browser.window import Console
from tests.factories import record
from tests.restore.scenes import let_old_leases_end
from tests.reviews.scenes import BLIND, channel

WORD = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"


@pytest.fixture
def restored(console: Console, recipient: Simulator) -> None:
    """Three were open when the database was put back; nobody can look for them."""
    del console
    channel(recipient, settings=BLIND)
    record(["room:a", "room:b", "room:c"])
    assert restoring.hold_restored(f"the count of {WORD} is 1", 1, instance.present(), "worker-1")
    while restoring.rewind_some("worker-1") is not None:
        pass
    let_old_leases_end()


@pytest.mark.usefixtures("restored")
def test_the_banner_leads_to_the_page_and_the_page_to_a_decision_about_a_group(
    console: Console, axe: str
) -> None:
    with console.opened(reverse("admin:overview")) as page:
        page.get_by_role("link", name="What to do").click()
        expect(page.get_by_role("heading", name="Restore hold")).to_be_visible()
        faults = all_faults(page, axe)

        page.get_by_role("button", name=re.compile("^Decide")).click()
        expect(page.get_by_role("radio", name="release, it was not sent")).to_be_enabled()

    assert faults == []
    assert Decision.objects.get().rows.count() == 3


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_an_operator_lets_work_go_on(console: Console, scripts: bool) -> None:
    with console.opened(reverse("admin:restore"), "operator-admin", scripts=scripts) as page:
        page.get_by_label("Reason (required)").fill("the old workers are off")
        page.get_by_role("button", name="Let work go on").click()
        expect(page.get_by_role("main")).to_contain_text("Work goes on")
        expect(page.get_by_text("Everything is held")).to_have_count(0)

    assert Installation.objects.get().held_at is None


def test_a_database_that_nobody_knows_is_asked_about_in_a_page_that_is_whole(
    console: Console, axe: str
) -> None:
    assert restoring.hold_unsure(f"no mark of {WORD}", "worker-1")

    with console.opened(reverse("admin:restore"), "operator-admin") as page:
        expect(page.get_by_role("button", name="It was restored")).to_be_visible()
        faults = all_faults(page, axe)

    assert faults == []
