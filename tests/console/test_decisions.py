"""From the alert's link to a decision, by forms alone: no script runs here."""

import re
from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse

from delivery.simulator.client import Simulator
from ledgers.models import Delivery, Event, Evidence, OutboxItem
from reviews.kinds import Kind, Stage
from reviews.records import Assignment, Decision
from tests.console.people import browser_of
from tests.factories import deliveries, delivery, record, sweep
from tests.reviews.scenes import (
    BLIND,
    ROOM,
    absent,
    channel,
    let_undo_end,
    settle_delay_over,
    unknown,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def recipient_process() -> Iterator[Simulator]:
    with Simulator.start() as simulator:
        yield simulator


@pytest.fixture
def recipient(recipient_process: Simulator, monkeypatch: pytest.MonkeyPatch) -> Simulator:
    monkeypatch.setattr("delivery.breaker.OPEN_AFTER", 10_000)
    recipient_process.forget()
    return recipient_process


@pytest.fixture
def triager(transactional_db: None) -> Client:
    return browser_of("triager")


@pytest.fixture
def approver(transactional_db: None) -> Client:
    return browser_of("approver")


def page(name: str, *args: object) -> str:
    return reverse(f"admin:{name}", args=args)


def text(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def decide(client: Client, row: Delivery, kind: str, **fields: str) -> Decision:
    """Fill in the form of the delivery's page, and get to the page that confirms."""
    form = {"kind": kind, "reason": "they wait for it", "version": str(row.row_version)} | fields
    answer = client.post(page("delivery_decide", row.delivery_id), form)
    assert answer.status_code == 302, answer.content.decode()
    return Decision.objects.latest("pk")


def confirm(client: Client, draft: Decision, **fields: str) -> str:
    """Press the button of that page, and read what is said then."""
    answer = client.post(page("decision_confirm", draft.pk), fields, follow=True)
    draft.refresh_from_db()
    return answer.content.decode()


def test_three_clicks_and_one_reason_lead_from_the_page_to_a_decision(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    first = text(triager, page("delivery", row.delivery_id))

    draft = decide(triager, row, "leave")
    shown = text(triager, page("decision", draft.pk))
    said = confirm(triager, draft)

    assert 'value="leave"' in first
    assert not re.search(r'type="radio"[^>]* checked', first)
    assert "It stays as it is, and no machine sends it any more." in shown
    assert "Decided: leave undelivered." in said
    assert delivery(ROOM).decision == "leave"


def test_a_second_confirm_says_who_was_quicker(recipient: Simulator, triager: Client) -> None:
    channel(recipient)
    row = absent(recipient)
    draft = decide(triager, row, "send_after_absent")

    confirm(triager, draft)
    again = confirm(triager, draft)
    let_undo_end(row)
    sweep()

    assert "is carried out (triager, " in again
    assert recipient.effects(ROOM) == 1


def test_undo_is_offered_with_its_seconds_and_restores(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient)
    row = absent(recipient)
    draft = decide(triager, row, "send_after_absent")
    said = confirm(triager, draft)

    answer = triager.post(page("decision_undo", draft.pk), follow=True)
    sweep()

    assert re.search(r"Undo \(\d\d s\)", said)
    assert "Taken back. Nothing was sent by it." in answer.content.decode()
    assert recipient.submissions(ROOM) == 1


def test_two_people_meet_on_the_decisions_page(
    recipient: Simulator, triager: Client, approver: Client
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    draft = decide(triager, row, "send_otherwise", note="not in the room")
    untyped = confirm(triager, draft, typed="")
    asked = confirm(triager, draft, typed=ROOM)
    mine, theirs = text(triager, page("approvals")), text(approver, page("approvals"))

    answer = approver.post(page("decision_approve", draft.pk), {"answer": "called"}, follow=True)

    assert "typed by hand" in untyped
    assert "Who asked for it cannot approve it" in asked
    assert mine.index(f"/decisions/{draft.pk}/") > mine.index("What I asked for")
    assert theirs.index(f"/decisions/{draft.pk}/") < theirs.index("What I asked for")
    assert "generation 2" in answer.content.decode()
    draft.refresh_from_db()
    assert (draft.stage, draft.approved_by) == (Stage.EXECUTED, "approver")


def test_a_field_that_is_missing_is_said_beside_what_was_written(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)

    answer = triager.post(
        page("delivery_decide", row.delivery_id), {"kind": "arrived", "reason": "seen by the team"}
    )

    shown = answer.content.decode()
    assert answer.status_code == 422
    assert "note: is empty" in shown
    assert "seen by the team" in shown
    assert not Decision.objects.exists()


def test_a_decision_about_what_has_moved_is_refused_at_the_confirm(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    draft = decide(triager, row, "leave")
    confirm(triager, decide(triager, row, "arrived", note="seen", link="T-1"))

    said = confirm(triager, draft)

    assert "it moved since it was looked at" in said
    assert draft.stage == Stage.DRAFT


def test_a_viewer_is_offered_nothing_and_told_why(recipient: Simulator) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)

    shown = text(browser_of("viewer"), page("delivery", row.delivery_id))

    assert 'type="radio"' not in shown
    assert "It takes the permission triage." in shown
    assert "Look again" not in shown


def test_what_cannot_be_decided_is_listed_with_what_would_make_it_allowed(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)

    shown = text(triager, page("delivery", row.delivery_id))

    assert "Not possible now" in shown
    assert "no key protects it here" in shown
    assert "which takes two people" in shown


# --- Looking again


def test_opening_the_page_asks_nobody_and_changes_nothing(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient, look_up_schedule=[])
    (row,) = unknown(recipient)
    before = Delivery.objects.values().get(pk=row.pk)

    for _ in range(3):
        triager.get(page("delivery", row.delivery_id))
        triager.head(page("delivery", row.delivery_id))

    assert not Evidence.objects.exists()
    assert Delivery.objects.values().get(pk=row.pk) == before


def test_looking_again_is_asked_for_and_done_once_in_30_seconds(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient, look_up_schedule=[])
    recipient.behave(ROOM, look_up="error", listing="error")
    (row,) = unknown(recipient)
    recipient.behave(ROOM, look_up="error", listing="error")

    first = triager.post(page("delivery_look", row.delivery_id), follow=True).content.decode()
    second = triager.post(page("delivery_look", row.delivery_id), follow=True).content.decode()

    assert "The destination was searched: inconclusive" in first
    assert "within the last 30 seconds" in second
    assert len(set(Evidence.objects.values_list("taken_at", flat=True))) == 1


def test_the_page_looks_by_itself_only_where_nobody_else_will(
    recipient: Simulator, triager: Client
) -> None:
    row = channel(recipient, look_up_schedule=[])
    (one,) = unknown(recipient)
    url = page("delivery", one.delivery_id)
    alone = text(triager, url)

    row.rate_per_s = 1
    row.save()
    limited = text(triager, url)
    row.rate_per_s, row.look_up_schedule = 0, [3600]
    row.save()
    scheduled = text(triager, url)

    assert 'hx-trigger="load' in alone
    assert 'hx-trigger="load' not in limited
    assert 'hx-trigger="load' not in scheduled


def test_a_page_that_looked_by_itself_is_shown_anew(recipient: Simulator, triager: Client) -> None:
    channel(recipient, look_up_schedule=[])
    (row,) = unknown(recipient)

    answer = triager.post(page("delivery_look", row.delivery_id), headers={"HX-Request": "true"})

    assert (answer.status_code, answer.headers["HX-Refresh"]) == (204, "true")
    assert delivery(ROOM).status == "delivered"


def test_a_worker_looks_when_a_person_wants_it(recipient: Simulator, triager: Client) -> None:
    channel(recipient, look_up_schedule=[])
    (row,) = unknown(recipient)

    said = triager.post(page("delivery_later", row.delivery_id), {"minutes": "15"}, follow=True)

    assert "searched again in 15 min" in said.content.decode()
    assert OutboxItem.objects.filter(pk=row.pk).exists()
    odd = triager.post(page("delivery_later", row.delivery_id), {"minutes": "999"})
    assert odd.status_code == 404


# --- Incidents


def incident(client: Client) -> dict[str, str]:
    """The hidden fields of the first incident."""
    html = text(client, page("triage"))
    form = html[html.index(page("triage_select")) :].partition("</form>")[0]
    return dict(re.findall(r'name="(channel|boundary|from|to|about)" value="([^"]*)"', form))


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


def test_the_last_evidence_is_a_chip(recipient: Simulator, triager: Client) -> None:
    channel(recipient, look_up_schedule=[])
    (row,) = unknown(recipient)
    unsearched = text(triager, page("triage"))
    recipient.behave(ROOM, look_up="error", listing="error")
    settle_delay_over(row)

    triager.post(page("delivery_look", row.delivery_id))

    assert "</svg>none yet</span>" in unsearched
    assert "</svg>error</span>" in text(triager, page("triage"))


def test_a_blind_channel_cannot_look(recipient: Simulator, triager: Client) -> None:
    channel(recipient, settings=BLIND)
    unknown(recipient)

    assert "cannot look" in text(triager, page("triage"))


# --- Tries under approval, and cancelling


def test_tries_are_approved_and_refused_on_their_pages(
    recipient: Simulator, approver: Client
) -> None:
    channel(recipient, requires_approval=True)
    record([ROOM, "room:b"])
    sweep()
    first, other = deliveries()

    confirm(approver, decide(approver, first, Kind.APPROVE_TRY))
    confirm(approver, decide(approver, other, Kind.REFUSE_TRY))
    let_undo_end(first)
    sweep()

    assert [row.status for row in deliveries()] == ["delivered", "cancelled"]


def test_a_database_that_fails_at_the_confirm_changes_nothing(
    recipient: Simulator, triager: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancel that could not be kept is never answered as if it had been."""
    from django.db import OperationalError

    channel(recipient)
    (row,) = record([ROOM])
    draft = decide(triager, row, "cancel")

    def broken(*_: object) -> None:
        raise OperationalError("the database is not there")

    monkeypatch.setattr("reviews.carrying.cancel_deliveries", broken)
    triager.raise_request_exception = False
    answer = triager.post(page("decision_confirm", draft.pk))

    assert answer.status_code == 500
    assert delivery(ROOM).status == "pending"
    draft.refresh_from_db()
    assert draft.stage == Stage.DRAFT
