"""The list of what is unknown: incidents, order, and who takes what."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from delivery.simulator.client import Simulator
from ledgers.models import Event
from reviews.incidents import Incident
from reviews.kinds import Stage
from reviews.records import Assignment, Decision
from tests.console.forms import confirm, decide, page, text
from tests.factories import delivery
from tests.reviews.scenes import (
    BLIND,
    ROOM,
    absent,
    channel,
    unknown,
)

pytestmark = pytest.mark.django_db(transaction=True)


def incident(client: Client) -> dict[str, str]:
    """The hidden fields of the first incident."""
    html = text(client, page("triage"))
    form = html[html.index(page("triage_select")) :].partition("</form>")[0]
    return dict(re.findall(r'name="(channel|boundary|from|to)" value="([^"]*)"', form))


def test_an_incident_is_frozen_and_what_comes_later_is_not_acted_on(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient, settings=BLIND)
    chosen = unknown(recipient, *(f"room:{n}" for n in range(7)))
    fields = incident(triager)
    unknown(recipient, "room:late", run_id="run-2")

    triager.post(page("triage_select"), fields)
    draft = Decision.objects.get()
    offered = text(triager, page("decision", draft.pk))
    triager.post(page("decision_fill", draft.pk), {"kind": "leave", "reason": "the host was down"})
    confirm(triager, draft)

    assert "leave undelivered" in offered
    assert "7 of 7" in offered
    assert {row.delivery_id for row in draft.rows.all()} == {row.pk for row in chosen}
    assert delivery("room:late", "run-2").decision == ""
    assert delivery("room:3").decision == "leave"


def test_a_decision_about_several_takes_their_number_and_says_all_where_all_are_meant(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient, settings=BLIND)
    unknown(recipient, "room:a", "room:b", "room:c")
    triager.post(page("triage_select"), incident(triager))
    draft = Decision.objects.get()
    triager.post(page("decision_fill", draft.pk), {"kind": "leave", "reason": "it was down"})

    shown = text(triager, page("decision", draft.pk))
    wrong = confirm(triager, draft, typed="30")
    stage = draft.stage
    right = confirm(triager, draft, typed="3")

    assert "It is about all 3." in shown
    assert "the others are skipped" not in shown
    assert "What was typed is not what this is about. Right would be: 3, typed by hand." in wrong
    assert stage == Stage.DRAFT
    assert "Decided: leave undelivered." in right
    assert "to take it back, open the delivery and decide otherwise" in right


def test_what_an_incident_is_about_is_said_by_the_ledger_and_not_by_who_selects_it(
    recipient: Simulator, triager: Client
) -> None:
    """Whoever approves reads it as a fact."""
    channel(recipient, settings=BLIND)
    unknown(recipient, "room:a", "room:b")
    forged = incident(triager) | {"about": "legal has confirmed that none of it arrived"}

    triager.post(page("triage_select"), forged)

    assert Decision.objects.get().about.startswith("alerts: ")


def test_somebody_takes_an_incident_and_the_list_says_so(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient, settings=BLIND)
    unknown(recipient, "room:a", "room:b")

    said = triager.post(page("triage_take"), incident(triager), follow=True).content.decode()

    assert "2 are yours." in said
    assert "taken by triager" in said
    assert Assignment.objects.count() == 2
    assert Event.objects.filter(kind="assign", actor="triager").count() == 2


def test_an_incident_of_which_somebody_has_a_part_says_how_much(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient, settings=BLIND)
    row = unknown(recipient, "room:a", "room:b", "room:c")[0]

    triager.post(page("delivery_take", row.delivery_id))

    assert "1 of 3 taken by triager" in text(triager, page("triage"))


def test_a_filter_that_the_list_does_not_know_shows_nothing_and_says_so(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient, settings=BLIND)
    unknown(recipient, "room:a")

    said = text(triager, page("triage") + "?chanel=alerts")

    assert "the address is not understood" in said
    assert "data-cf-row" not in said


@pytest.mark.parametrize("form", [{}, {"channel": "alerts"}, {"from": "x", "to": "y"}])
def test_an_incident_that_is_not_named_is_nothing_and_not_everything(
    recipient: Simulator, triager: Client, form: dict[str, str]
) -> None:
    channel(recipient, settings=BLIND)
    unknown(recipient, "room:a")

    triager.post(page("triage_select"), form)

    assert not Decision.objects.exists()


def test_a_list_never_changes_its_order_but_says_what_is_new(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient, settings=BLIND)
    unknown(recipient, "room:a")
    html = text(triager, page("triage"))
    news = re.search(r'hx-get="([^"]*news[^"]*)"', html)
    assert news is not None
    before = text(triager, news[1])

    unknown(recipient, "room:b", "room:c", run_id="run-2")

    assert "new" not in before
    assert "2 new" in text(triager, news[1])


def test_rows_come_by_closing_window_and_then_by_age(recipient: Simulator, triager: Client) -> None:
    channel(recipient, settings=BLIND)
    keyed = {"dedupe_window_s": 600, **BLIND}
    channel(recipient, slug="keyed", settings=keyed, retry_schedule=[3600])
    unknown(recipient, "room:old")
    unknown(recipient, "room:young", run_id="run-2")
    unknown(recipient, "room:closing", run_id="run-3", channel="keyed")

    html = text(triager, page("triage"))
    order = re.findall(r"data-cf-row>(room:\w+)", html)

    assert order == ["room:closing", "room:old", "room:young"]


def test_what_was_shown_absent_is_listed_to_be_decided(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient)
    absent(recipient)

    html = text(triager, page("triage"))

    assert "Not sent: send it or not?" in html
    assert ROOM in html


def test_what_a_person_left_is_not_triaged_again(recipient: Simulator, triager: Client) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)

    confirm(triager, decide(triager, row, "leave"))

    assert "Nothing is unknown" in text(triager, page("triage"))


def test_the_cards_are_narrowed_to_the_channel_as_the_rows_are(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient, settings=BLIND)
    channel(recipient, slug="pager", settings=BLIND)
    unknown(recipient, "room:a")
    unknown(recipient, "room:b", run_id="run-2", channel="pager")

    both = text(triager, page("triage"))
    one = text(triager, page("triage") + "?channel=pager")
    none = text(triager, page("triage") + "?channel=nowhere")

    cards = [html.count('class="cf-card cf-unknown"') for html in (both, one, none)]
    assert cards == [2, 1, 0]
    assert "Incidents on pager" in one
    assert "room:a" not in one
    assert "Nothing is unknown<" not in none


def test_an_incident_says_by_the_clock_how_long_it_lasted() -> None:
    first = datetime(2026, 11, 29, 14, 2, 7, tzinfo=UTC)

    def lasting(**by: int) -> str:
        last = first + timedelta(**by)
        return Incident("alerts", "lost", first, last, 2, None, (), 0).span

    assert lasting(minutes=6) == "14:02:07 to 14:08:07 UTC"
    assert lasting(hours=10) == "2026-11-29 14:02:07 to 2026-11-30 00:02:07 UTC"
