"""Changing channels and credentials on the console's pages: forms alone, no script runs here."""

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from ledgers.models import Channel, Credential, Event
from reviews.kinds import Stage
from reviews.proposals import Proposal
from tests.admin.pages import page, page_of
from tests.console.access import CHANNEL, CREDENTIAL
from tests.console.conftest import As
from tests.factories import SENDER, record

pytestmark = pytest.mark.django_db(transaction=True)
WINDOW = {"settings": json.dumps({"path": SENDER, "dedupe_window_s": 3_600})}


@pytest.fixture
def used(channel: Channel) -> Channel:
    """A channel that something was recorded through."""
    record(["tg:1"])
    return channel


@pytest.fixture
def operator(browse_as: As) -> Client:
    return browse_as("operator-admin")


@pytest.fixture
def approver(browse_as: As) -> Client:
    return browse_as("approver")


def at(name: str, *args: object) -> str:
    return reverse(f"admin:{name}", args=args)


def text(client: Client, name: str, *args: object) -> str:
    answer = client.get(at(name, *args))
    assert answer.status_code == 200
    return answer.content.decode()


def press(client: Client, name: str, pk: int, **form: str) -> str:
    return client.post(at(name, pk), form, follow=True).content.decode()


def write_down(client: Client, **fields: Any) -> Proposal:
    """Fill in the form of the channel as it stands, with these fields otherwise."""
    row = Channel.objects.get(slug="alerts")
    form = CHANNEL | {"rate_per_s": "0", "version": str(row.row_version)} | fields
    answer = client.post(at("channel_propose", "alerts"), form)
    assert answer.status_code == 302, answer.content.decode()
    return Proposal.objects.latest("pk")


def test_two_people_meet_on_the_page_of_a_change(
    used: Channel, operator: Client, approver: Client
) -> None:
    form = text(operator, "channel_edit", "alerts")
    draft = write_down(operator, **WINDOW)
    shown = text(operator, "proposal", draft.pk)
    asked = press(operator, "proposal_request", draft.pk, reason="their manual, page 7")
    mine, theirs = text(operator, "approvals"), text(approver, "approvals")
    waiting = text(approver, "channel", "alerts")
    seen = text(approver, "proposal", draft.pk)

    said = press(approver, "proposal_approve", draft.pk, answer="I read it too")

    address = at("proposal", draft.pk)
    used.refresh_from_db()
    assert 'name="version" value="1"' in form
    assert "It takes two people." in shown
    assert "a key is trusted to protect for longer" in shown
    assert "Tries against the window, as they would be" in shown
    assert "Asked for. It is carried out once it is approved." in asked
    assert "Who asked for it cannot approve it" in asked
    assert mine.index(address) > mine.index("What I asked for")
    assert theirs.index(address) < theirs.index("What I asked for")
    assert "operator-admin has asked to change this" in waiting
    assert "Approve, and change it" in seen
    assert "Approved, and changed." in said
    assert used.settings["dedupe_window_s"] == 3_600


def test_what_narrows_is_done_at_once_and_stands_in_the_channels_history(
    used: Channel, operator: Client
) -> None:
    draft = write_down(operator, rate_per_s="5")
    shown = text(operator, "proposal", draft.pk)

    said = press(operator, "proposal_request", draft.pk, reason="they are slow today")

    history = text(operator, "channel", "alerts")
    assert "One person may: it takes no protection away and gives no authority." in shown
    assert "Change it now" in shown
    assert "Changed. Running workers follow" in said
    assert "they are slow today" in history
    assert at("proposal", draft.pk) in history


def test_the_waiting_change_is_counted_in_the_menu(
    used: Channel, operator: Client, approver: Client
) -> None:
    draft = write_down(operator, **WINDOW)
    before = text(approver, "approvals")
    press(operator, "proposal_request", draft.pk, reason="R")

    assert '<span class="cf-count">1</span>' not in before.partition("Approvals")[2][:200]
    assert '<span class="cf-count">1</span>' in text(approver, "approvals")


def test_a_second_click_says_who_was_quicker(
    used: Channel, operator: Client, approver: Client
) -> None:
    draft = write_down(operator, **WINDOW)
    press(operator, "proposal_request", draft.pk, reason="R")

    again = press(operator, "proposal_request", draft.pk, reason="R")
    press(approver, "proposal_approve", draft.pk)
    twice = press(approver, "proposal_approve", draft.pk)

    assert f"Change {draft.pk} waits for approval (operator-admin, " in again
    assert "is carried out (approver, " in twice
    assert Event.objects.filter(kind="change_channel").count() == 1


def test_it_is_refused_with_a_reason_or_taken_back(
    used: Channel, operator: Client, approver: Client
) -> None:
    one, other = write_down(operator, **WINDOW), write_down(operator, **WINDOW)
    for draft in (one, other):
        press(operator, "proposal_request", draft.pk, reason="R")

    silent = press(approver, "proposal_refuse", one.pk, answer="")
    refused = press(approver, "proposal_refuse", one.pk, answer="not in their manual")
    taken = press(operator, "proposal_refuse", other.pk, answer="a mistake")

    assert "there is no reason" in silent.lower()
    assert "not in their manual" in refused
    assert "a mistake" in taken
    assert set(Proposal.objects.values_list("stage", flat=True)) == {Stage.REFUSED}


def test_a_row_that_moved_meanwhile_is_said_before_and_after_the_click(
    used: Channel, operator: Client, approver: Client
) -> None:
    draft = write_down(operator, **WINDOW)
    press(operator, "proposal_request", draft.pk, reason="R")
    Channel.objects.update(max_attempts=3)

    seen = text(approver, "proposal", draft.pk)
    said = press(approver, "proposal_approve", draft.pk)

    assert "was changed since this was looked at" in seen
    assert "Approve, and change it" not in seen
    assert "it was changed since it was looked at" in said.lower()


@pytest.mark.parametrize("version", ["", "0", "2", "x", "-1", "9" * 5_000, "\x00"])
def test_a_form_about_another_version_is_refused_beside_what_was_typed(
    used: Channel, operator: Client, version: str
) -> None:
    form = CHANNEL | WINDOW | {"version": version}

    answer = operator.post(at("channel_propose", "alerts"), form)

    assert answer.status_code == 422
    assert "changed since" in answer.content.decode()
    assert "dedupe_window_s" in answer.content.decode()
    assert not Proposal.objects.exists()


def test_a_field_that_could_not_work_is_named_and_nothing_is_written_down(
    used: Channel, operator: Client
) -> None:
    form = CHANNEL | WINDOW | {"version": "1", "retry_schedule": "[3000]"}

    answer = operator.post(at("channel_propose", "alerts"), form)

    assert answer.status_code == 422
    assert "protects only" in answer.context["form"].errors["retry_schedule"][0]
    assert "[3000]" in answer.content.decode()
    assert not Proposal.objects.exists()


def test_a_form_with_nothing_different_says_so(used: Channel, operator: Client) -> None:
    form = CHANNEL | {"version": "1", "rate_per_s": "0"}

    answer = operator.post(at("channel_propose", "alerts"), form)

    assert (answer.status_code, Proposal.objects.count()) == (422, 0)
    assert "nothing is different" in answer.content.decode().lower()


def test_hostile_values_are_text_on_every_page(
    used: Channel, operator: Client, approver: Client
) -> None:
    bad = "<script>alert(1)</script>"
    form = CREDENTIAL | {"version": "1", "identity": bad, "destination_rules": json.dumps([bad])}

    answer = operator.post(at("credential_propose", "alerts-key"), form)
    draft = Proposal.objects.latest("pk")
    asked = press(operator, "proposal_request", draft.pk, reason=bad)
    pages = [
        asked,
        text(approver, "approvals"),
        text(approver, "credential", "alerts-key"),
        press(approver, "proposal_approve", draft.pk, answer=bad),
        text(approver, "credential", "alerts-key"),
        text(approver, "channel", "alerts"),
        text(operator, "credential_edit", "alerts-key"),
        text(approver, "trail"),
    ]

    assert answer.status_code == 302
    assert Credential.objects.get().identity == bad
    assert not any(bad in shown for shown in pages)
    assert all("&lt;script&gt;" in shown for shown in pages)


@pytest.mark.parametrize("words", ["a\x00b", "x" * 3_000])
def test_words_that_cannot_be_kept_are_refused(
    used: Channel, operator: Client, approver: Client, words: str
) -> None:
    draft = write_down(operator, **WINDOW)

    said = press(operator, "proposal_request", draft.pk, reason=words)
    press(operator, "proposal_request", draft.pk, reason="R")
    answered = press(approver, "proposal_approve", draft.pk, answer=words)

    draft.refresh_from_db()
    assert "reason: " in said.lower()
    assert "answer: " in answered.lower()
    assert draft.stage == Stage.REQUESTED


def test_what_another_credential_may_do_is_shown_to_who_approves_it(
    used: Channel, operator: Client, approver: Client
) -> None:
    Credential.objects.create(
        name="other", secret_ref="env:OTHER", scopes=["admin"], destination_rules=["tg:9*"]
    )
    draft = write_down(operator, credential="other")
    press(operator, "proposal_request", draft.pk, reason="R")

    seen = text(approver, "proposal", draft.pk)

    assert "it sends with another authority" in seen
    for part in ("env:OTHER", "admin", "tg:9*"):
        assert f"<code>{part}</code>" in seen


def test_one_operator_types_the_name(used: Channel, admin: Client, settings: Any) -> None:
    settings.COUNTERFOIL_APPROVERS = 1
    draft = write_down(admin, **WINDOW)
    shown = text(admin, "proposal", draft.pk)
    press(admin, "proposal_request", draft.pk, reason="R")

    early = press(admin, "proposal_approve", draft.pk, typed="alerts")
    Proposal.objects.update(ripe_at="2026-01-01T00:00:00Z")
    wrong = press(admin, "proposal_approve", draft.pk, typed="other")
    done = press(admin, "proposal_approve", draft.pk, typed="alerts")

    assert "a wait of ten minutes" in shown
    assert "may be approved from" in early
    assert "typed by hand" in wrong
    assert "Approved, and changed." in done


def test_a_stranger_to_the_change_sees_it_and_is_offered_nothing(
    used: Channel, operator: Client, browse_as: As
) -> None:
    draft = write_down(operator, **WINDOW)
    unasked = text(browse_as("viewer"), "proposal", draft.pk)
    press(operator, "proposal_request", draft.pk, reason="R")
    asked = text(browse_as("viewer"), "proposal", draft.pk)

    assert "wrote this down and has not asked for it yet" in unasked
    assert "Approving takes the permission" in asked
    assert 'method="post" action="/proposals' not in unasked + asked
    assert browse_as("viewer").get(at("proposal", 4711)).status_code == 404


@pytest.mark.parametrize("model", [Channel, Credential])
def test_the_stock_forms_change_and_remove_nothing_for_a_superuser_either(
    used: Channel, admin: Client, model: Any
) -> None:
    row = model.objects.get()
    before = model.objects.values().get()

    answers = [
        admin.post(page_of(row), CHANNEL | CREDENTIAL | WINDOW | {"paused": "on"}),
        admin.post(page(model, "add"), CHANNEL | CREDENTIAL),
        admin.post(page_of(row, "delete"), {"post": "yes"}),
        admin.post(page(model, "changelist"), {"action": "delete_selected"}),
    ]

    assert [answer.status_code for answer in answers[:3]] == [403, 403, 403]
    assert model.objects.values().get() == before
    assert admin.get(page_of(row)).status_code == 200


def test_the_trail_is_filtered_by_channel_and_by_change(used: Channel, operator: Client) -> None:
    draft = write_down(operator, rate_per_s="5")
    press(operator, "proposal_request", draft.pk, reason="they are slow today")

    by_channel = operator.get(at("trail"), {"channel": "alerts"}).content.decode()
    by_change = operator.get(at("trail"), {"proposal": str(draft.pk)}).content.decode()
    another = operator.get(at("trail"), {"channel": "another"}).content.decode()
    nonsense = operator.get(at("trail"), {"proposal": "x"})

    assert "they are slow today" in by_channel
    assert "they are slow today" in by_change
    assert "they are slow today" not in another
    assert nonsense.status_code == 400


def test_a_refused_switch_is_in_the_trail(used: Channel, operator: Client) -> None:
    operator.post(at("resume", "alerts"), {"reason": "over"})

    event = Event.objects.get(kind="refuse")
    assert (event.actor, event.detail["page"]) == ("operator-admin", "resume")
    assert "not paused as it was" in event.detail["why"]
