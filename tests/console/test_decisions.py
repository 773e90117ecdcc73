"""From the alert's link to a decision, by forms alone: no script runs here."""

import re

import pytest
from django.test import Client

from delivery.simulator.client import Simulator
from ledgers.states import DeliveryStatus
from reviews.hints import hint
from reviews.kinds import Kind, Stage
from reviews.records import Decision
from reviews.wishes import digest
from tests.console.forms import confirm, decide, page, text
from tests.console.people import browser_of
from tests.factories import deliveries, delivery, record, sweep
from tests.reviews.scenes import (
    BLIND,
    ROOM,
    absent,
    channel,
    let_undo_end,
    unknown,
)

pytestmark = pytest.mark.django_db(transaction=True)


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


def test_a_page_left_open_confirms_nothing_that_another_tab_wrote(
    recipient: Simulator, triager: Client
) -> None:
    """The open page says "leave undelivered"; its button must not send."""
    channel(recipient)
    draft = decide(triager, absent(recipient), "leave")
    shown = {"wish": digest(draft)}
    triager.post(
        page("decision_fill", draft.pk), {"kind": "send_after_absent", "reason": "they wait"}
    )

    said = triager.post(page("decision_confirm", draft.pk), shown, follow=True).content.decode()

    draft.refresh_from_db()
    assert "was changed since this page was shown" in said
    assert (draft.stage, draft.kind) == (Stage.DRAFT, "send_after_absent")
    assert delivery(ROOM).decision == ""


def test_undo_is_offered_with_its_seconds_and_restores(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient)
    row = absent(recipient)
    draft = decide(triager, row, "send_after_absent")
    said = confirm(triager, draft)

    answer = triager.post(page("decision_undo", draft.pk), follow=True)
    sweep()

    assert re.search(r"Undo \(<span data-cf-left>\d\d</span> s\)", said)
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
    answer = triager.post(page("decision_confirm", draft.pk), {"wish": digest(draft)})

    assert answer.status_code == 500
    assert delivery(ROOM).status == "pending"
    draft.refresh_from_db()
    assert draft.stage == Stage.DRAFT


def test_what_a_person_saw_is_asked_for_where_it_is_needed_and_by_its_name(
    recipient: Simulator, triager: Client
) -> None:
    """Without a script nothing opens by itself: the fields stand open where they may be needed."""
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    form = {"kind": "arrived", "reason": "they read it", "version": str(row.row_version)}

    offered = text(triager, page("delivery", row.delivery_id))
    refused = triager.post(page("delivery_decide", row.delivery_id), form).content.decode()

    for said in (offered, refused):
        assert "<details open>" in said
        assert ">Note: what was seen, in words</label>" in said
        assert ">Link: where it can be seen" in said
    assert "note: is empty. Right would be: what was seen, in words." in refused


def test_nothing_is_asked_about_a_sighting_where_no_decision_takes_one(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient)
    (row,) = record([ROOM])

    said = text(triager, page("delivery", row.delivery_id))

    assert 'value="cancel"' in said
    assert 'name="note"' not in said


def test_cancel_says_beside_leave_that_it_is_too_late_for_what_may_have_been_sent(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient, settings=BLIND)
    (lost,) = unknown(recipient)
    (owed,) = record(["room:owed"], run_id="run-2")

    about_lost = text(triager, page("delivery", lost.delivery_id))
    about_owed = text(triager, page("delivery", owed.delivery_id))

    assert "too late, it may have been sent: forbids every further send" in about_lost
    assert "asks nobody any more" in about_lost
    assert "withdraws it: it was not sent, and never will be" in about_owed
    assert "too late, it may" not in about_owed


@pytest.mark.parametrize("kind", Kind)
def test_every_decision_says_what_it_does_where_it_is_chosen(kind: Kind) -> None:
    mixed = hint(kind, [DeliveryStatus.UNKNOWN, DeliveryStatus.PENDING])

    assert mixed
    assert (kind == Kind.CANCEL) == mixed.endswith("it is too late")


def test_the_sheet_explains_every_decision(admin: Client) -> None:
    sheet = text(admin, page("overview"))
    sheet = sheet[sheet.index('id="cf-help"') :]

    for word in ("cancel", "discard expired", "look again", "it arrived", "leave undelivered"):
        assert f"<dt>{word}</dt>" in sheet


def test_once_it_went_out_a_decision_says_what_became_of_it(
    recipient: Simulator, triager: Client
) -> None:
    channel(recipient)
    row = absent(recipient)
    draft = decide(triager, row, "send_after_absent")

    before = confirm(triager, draft)
    let_undo_end(row)
    sweep()
    after = text(triager, page("decision", draft.pk))

    assert "it is sent again when the undo is over" in before
    assert "it is sent again when" not in after
    assert "it is delivered by now" in after
