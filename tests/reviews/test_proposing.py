"""Changes of channels and credentials: who must agree, what they are bound to, and what is kept."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from delivery import editing, switches
from delivery.errors import EditError, InvalidInputError
from ledgers.clock import database_now
from ledgers.errors import NotFoundError
from ledgers.models import Channel, Credential, Event
from reviews import proposing
from reviews.errors import NotAllowedError, VoidError
from reviews.kinds import Gate, Stage
from reviews.people import Person
from reviews.proposals import Proposal
from tests.delivery.senders import desk
from tests.factories import SENDER, delivery, make_channel, record, sweep
from tests.ledgers.connections import other_thread, second_connection, wait_until_blocked
from tests.reviews.people import person

pytestmark = pytest.mark.django_db(transaction=True)

WIDER = {"settings": {"path": SENDER, "dedupe_window_s": 3_600}}
NARROWER = {"rate_per_s": 2.0}


@pytest.fixture
def channel(transactional_db: None) -> Channel:
    """One that something was recorded through."""
    made = make_channel(rules=["tg:*"])
    record(["tg:1"])
    return made


@pytest.fixture
def olga(transactional_db: None) -> Person:
    """She keeps the ways out."""
    return person("olga", "operator-admin")


@pytest.fixture
def both(transactional_db: None) -> Person:
    """She keeps the ways out and is a second person as well: for others."""
    return person("berta", "operator-admin", "approver", superuser=True)


def ask(who: Person, row: Channel | Credential, values: dict[str, Any], why: str = "R") -> Proposal:
    """Look at it and ask for it at once."""
    row.refresh_from_db()
    return proposing.request(who, proposing.draft(who, row, values, row.row_version).pk, why)


def kinds() -> list[str]:
    """What the trail has of channels and credentials, in order."""
    rows = Event.objects.filter(delivery=None, run=None).order_by("pk")
    return list(rows.values_list("kind", flat=True))


# --- Who must agree
def test_what_only_narrows_is_one_persons_and_immediate(channel: Channel, olga: Person) -> None:
    done = ask(olga, channel, NARROWER, "the provider asks for it")

    channel.refresh_from_db()
    assert (done.stage, done.gate, channel.rate_per_s) == (Stage.EXECUTED, Gate.ONE, 2.0)
    (event,) = Event.objects.filter(kind="change_channel")
    assert event.actor == "olga"
    assert event.detail == {
        "channel": "alerts",
        "fields": ["rate_per_s"],
        "proposal": done.pk,
        "reason": "the provider asks for it",
    }


def test_what_widens_changes_nothing_until_another_person_approves(
    channel: Channel, olga: Person, bob: Person
) -> None:
    asked = ask(olga, channel, WIDER)
    channel.refresh_from_db()
    before = channel.settings

    done = proposing.approve(bob, asked.pk, "it is in their manual")

    channel.refresh_from_db()
    assert (asked.stage, asked.gate, before) == (Stage.REQUESTED, Gate.TWO, {"path": SENDER})
    assert (done.stage, channel.settings) == (Stage.EXECUTED, WIDER["settings"])
    assert kinds() == ["proposal_request", "proposal_approve", "change_channel"]
    approved = Event.objects.get(kind="proposal_approve").detail
    assert (approved["requested_by"], approved["approved_by"]) == ("olga", "bob")
    assert approved["fields"] == ["settings.dedupe_window_s"]
    assert SENDER not in str(list(Event.objects.filter(delivery=None).values_list("detail")))


def test_who_asked_cannot_approve_and_a_superuser_is_a_person_too(
    channel: Channel, both: Person
) -> None:
    asked = ask(both, channel, WIDER)

    with pytest.raises(NotAllowedError, match=r"who asked for it cannot approve it"):
        proposing.approve(both, asked.pk)

    channel.refresh_from_db()
    assert channel.settings == {"path": SENDER}
    assert Event.objects.get(kind="refuse").detail["channel"] == "alerts"


def test_narrow_and_wide_in_one_change_takes_two(channel: Channel, olga: Person) -> None:
    assert ask(olga, channel, {**NARROWER, **WIDER}).gate == Gate.TWO


def test_a_channel_through_which_nothing_was_recorded_is_still_being_set_up(olga: Person) -> None:
    fresh = make_channel("fresh")

    assert ask(olga, fresh, WIDER).gate == Gate.ONE
    assert ask(olga, fresh.credential, {"destination_rules": ["*", "tg:*"]}).gate == Gate.ONE


def test_a_credential_of_a_used_channel_is_bound_as_the_channel_is(
    channel: Channel, olga: Person
) -> None:
    assert ask(olga, channel.credential, {"destination_rules": ["tg:1"]}).stage == Stage.EXECUTED
    assert ask(olga, channel.credential, {"destination_rules": ["tg:*"]}).gate == Gate.TWO


def test_whoever_may_not_is_refused_and_a_shell_is_no_first_of_two(
    channel: Channel, alice: Person, olga: Person
) -> None:
    shell = Person("shell:somebody")
    draft = proposing.draft(shell, channel, WIDER, channel.row_version)

    with pytest.raises(NotAllowedError, match="edit_channels"):
        proposing.draft(alice, channel, NARROWER, channel.row_version)
    with pytest.raises(NotAllowedError, match="has an account"):
        proposing.request(shell, draft.pk, "R")
    with pytest.raises(NotAllowedError, match="wrote this down"):
        proposing.request(olga, draft.pk, "R")
    assert ask(shell, channel, NARROWER).stage == Stage.EXECUTED


def test_one_operator_waits_ten_minutes_and_types_the_name(
    channel: Channel, both: Person, settings: Any
) -> None:
    settings.COUNTERFOIL_APPROVERS = 1
    asked = ask(both, channel, WIDER)
    with pytest.raises(NotAllowedError, match="may be approved from"):
        proposing.approve(both, asked.pk, typed="alerts")
    Proposal.objects.update(ripe_at=database_now())
    with pytest.raises(NotAllowedError, match="alerts, typed by hand"):
        proposing.approve(both, asked.pk, typed="alert")

    done = proposing.approve(both, asked.pk, typed="alerts")

    assert asked.ripe_at is not None
    assert asked.requested_at is not None
    assert (asked.ripe_at - asked.requested_at).total_seconds() == 600
    assert (done.stage, done.gate) == (Stage.EXECUTED, Gate.ALONE)
    assert Event.objects.get(kind="proposal_approve").detail["people"] == "one person"


# --- What it is bound to
def test_a_change_that_is_carried_out_makes_every_other_request_about_the_row_void(
    channel: Channel, olga: Person, bob: Person
) -> None:
    asked, elsewhere = ask(olga, channel, WIDER), ask(olga, channel.credential, {"identity": "x"})
    ask(olga, channel, NARROWER)

    with pytest.raises(NotAllowedError, match="is void: what it was about has moved"):
        proposing.approve(bob, asked.pk)

    asked.refresh_from_db()
    elsewhere.refresh_from_db()
    channel.refresh_from_db()
    assert (asked.stage, channel.settings) == (Stage.VOID, {"path": SENDER})
    assert elsewhere.stage == Stage.REQUESTED
    assert kinds()[-3:] == ["change_channel", "proposal_void", "refuse"]


def test_a_change_from_any_other_place_moves_the_row_and_is_in_the_trail(
    channel: Channel, olga: Person, bob: Person
) -> None:
    asked = ask(olga, channel, WIDER)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ledgers_channel SET max_attempts = 3")

    with pytest.raises(VoidError):
        proposing.approve(bob, asked.pk)

    event = Event.objects.get(kind="change_channel")
    assert event.actor.startswith("sql:")
    assert event.detail == {"channel": "alerts", "fields": ["max_attempts"]}
    asked.refresh_from_db()
    assert asked.stage == Stage.VOID


def test_what_a_credential_reaches_is_bound_to_the_change_that_takes_it(
    channel: Channel, olga: Person, bob: Person
) -> None:
    """Who approves another credential approves what it was able to do when it was asked for."""
    other = Credential.objects.create(name="other", destination_rules=["tg:*"])
    asked = ask(olga, channel, {"credential": "other"})
    ask(olga, other, {"destination_rules": ["*"]})

    with pytest.raises(VoidError):
        proposing.approve(bob, asked.pk)

    channel.refresh_from_db()
    assert channel.credential.name == "alerts-key"


def test_a_pause_and_a_pinned_fingerprint_move_nothing(
    channel: Channel, olga: Person, bob: Person
) -> None:
    asked = ask(olga, channel, WIDER)
    sweep()
    switches.pause(channel, "audit", "ann")

    assert proposing.approve(bob, asked.pk).stage == Stage.EXECUTED

    channel.refresh_from_db()
    assert channel.pause_reason == "audit"
    assert channel.credential.fingerprint == "none"


def test_a_draft_of_what_was_changed_since_is_refused(channel: Channel, olga: Person) -> None:
    draft = proposing.draft(olga, channel, WIDER, channel.row_version)
    ask(olga, channel, NARROWER)

    with pytest.raises(NotAllowedError, match="changed since"):
        proposing.request(olga, draft.pk, "R")
    with pytest.raises(NotAllowedError, match="changed since"):
        proposing.draft(olga, channel, WIDER, 1)


def test_a_request_expires_after_an_hour_and_a_draft_after_a_quarter_of_one(
    channel: Channel, olga: Person, bob: Person
) -> None:
    asked = ask(olga, channel, WIDER)
    draft = proposing.draft(olga, channel, NARROWER, channel.row_version)
    hour = (asked.expires_at - (asked.requested_at or asked.expires_at)).total_seconds()
    Proposal.objects.update(expires_at=database_now() - timedelta(seconds=1))

    with pytest.raises(VoidError, match="nobody approved it within the hour"):
        proposing.approve(bob, asked.pk)
    with pytest.raises(NotAllowedError, match="a quarter of an hour"):
        proposing.request(olga, draft.pk, "R")

    asked.refresh_from_db()
    assert (hour, asked.stage) == (3_600, Stage.EXPIRED)


def test_a_refusal_ends_it_and_who_asked_may_take_it_back(
    channel: Channel, olga: Person, bob: Person, alice: Person
) -> None:
    first, second = ask(olga, channel, WIDER), ask(olga, channel, {"rate_per_s": 0, **WIDER})
    with pytest.raises(NotAllowedError, match="there is no reason"):
        proposing.refuse(bob, first.pk, " ")
    with pytest.raises(NotAllowedError, match="approve is missing"):
        proposing.refuse(alice, first.pk, "no")

    refused = proposing.refuse(bob, first.pk, "their manual says nothing of it")
    taken_back = proposing.refuse(olga, second.pk, "a mistake")

    assert (refused.stage, taken_back.stage) == (Stage.REFUSED, Stage.REFUSED)
    with pytest.raises(NotAllowedError, match=r"is refused by the second person \(bob, "):
        proposing.approve(bob, first.pk)


# --- Validation
def test_what_could_not_work_is_refused_with_its_field_at_the_request(
    channel: Channel, olga: Person
) -> None:
    with pytest.raises(NotAllowedError, match="retry_schedule: 8 attempts take up to"):
        ask(olga, channel, {**WIDER, "retry_schedule": [3_000]})
    with pytest.raises(NotAllowedError, match="lease_s: "):
        ask(olga, channel, {"lease_s": 2.0})


def test_and_again_when_it_is_carried_out(
    channel: Channel, olga: Person, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newer version of the adapter may know better than the one that was asked."""
    from delivery.channels.function import FunctionAdapter

    asked = ask(olga, channel, WIDER)
    monkeypatch.setattr(
        FunctionAdapter, "check_settings", classmethod(lambda *_: ["path: is gone"])
    )

    with pytest.raises(NotAllowedError, match="settings: path: is gone"):
        proposing.approve(bob, asked.pk)

    asked.refresh_from_db()
    channel.refresh_from_db()
    assert (asked.stage, channel.settings) == (Stage.REQUESTED, {"path": SENDER})


@pytest.mark.parametrize("reason", ["", "  ", "x" * 2_001])
def test_a_request_without_a_proper_reason_is_refused(
    channel: Channel, olga: Person, reason: str
) -> None:
    draft = proposing.draft(olga, channel, NARROWER, channel.row_version)

    with pytest.raises(InvalidInputError, match="reason"):
        proposing.request(olga, draft.pk, reason)


def test_a_change_of_nothing_and_of_no_number_is_refused(channel: Channel, olga: Person) -> None:
    with pytest.raises(NotAllowedError, match="nothing is different"):
        proposing.draft(olga, channel, {"slug": "alerts"}, channel.row_version)
    with pytest.raises(NotFoundError):
        proposing.request(olga, 4711, "R")


def test_the_slug_of_a_used_channel_cannot_be_changed(channel: Channel, olga: Person) -> None:
    with pytest.raises(NotAllowedError, match="slug: It cannot be changed any more"):
        ask(olga, channel, {"slug": "other", **NARROWER})

    channel.refresh_from_db()
    assert (channel.slug, channel.rate_per_s) == ("alerts", 0)


# --- What comes of it
def test_what_the_old_settings_held_back_goes_at_once(olga: Person, bob: Person) -> None:
    channel = make_channel(rules=["tg:*"])
    record(["tg:1"])
    ask(olga, channel.credential, {"destination_rules": []})
    sweep()
    held, before = delivery("tg:1"), len(desk.received)
    asked = ask(olga, channel.credential, {"destination_rules": ["tg:1"]})

    proposing.approve(bob, asked.pk)
    sweep()

    assert (held.status, len(desk.received)) == ("pending", before + 1)
    assert delivery("tg:1").status == "delivered"


def test_only_who_takes_a_replaced_secret_forgets_its_fingerprint(
    channel: Channel, olga: Person, bob: Person
) -> None:
    """To narrow the rules was once to trust whatever secret was there."""
    credential = channel.credential
    Credential.objects.update(fingerprint="abc")
    ask(olga, credential, {"destination_rules": ["tg:1"]})
    credential.refresh_from_db()
    kept = credential.fingerprint

    asked = ask(olga, credential, {"accept_secret": True})
    proposing.approve(bob, asked.pk)

    credential.refresh_from_db()
    assert (kept, asked.gate, credential.fingerprint) == ("abc", Gate.TWO, "")


def test_another_reference_forgets_the_fingerprint(channel: Channel, olga: Person) -> None:
    unused = Credential.objects.create(name="unused", fingerprint="abc")

    ask(olga, unused, {"secret_ref": "env:OTHER"})

    unused.refresh_from_db()
    assert (unused.secret_ref, unused.fingerprint) == ("env:OTHER", "")


def test_what_else_a_transaction_writes_is_not_said_to_be_the_persons(
    channel: Channel, olga: Person
) -> None:
    with transaction.atomic():
        ask(olga, channel, NARROWER)
        Channel.objects.update(max_attempts=4)

    actors = list(
        Event.objects.filter(kind="change_channel").order_by("pk").values_list("actor", flat=True)
    )
    assert actors[0] == "olga"
    assert actors[1].startswith("sql:")


def test_a_new_row_is_one_persons_and_has_a_record(olga: Person, alice: Person) -> None:
    values = {"name": "fresh", "secret_ref": "env:A", "identity": "", "scopes": []}
    values |= {"destination_rules": ["tg:*"]}

    made = proposing.add(olga, Credential, values, "a new room")

    assert (made.name, made.is_new, made.gate) == ("fresh", True, Gate.ONE)
    assert Event.objects.get(kind="add_credential").detail["reason"] == "a new room"
    with pytest.raises(NotAllowedError, match="name: "):
        proposing.add(olga, Credential, values, "once more")
    with pytest.raises(NotAllowedError, match="edit_channels"):
        proposing.add(alice, Credential, values | {"name": "b"}, "R")


# --- Two at once
def outcome(act: Callable[[], Proposal]) -> str:
    try:
        return str(act().stage)
    except NotAllowedError as error:
        return str(error)


def second_while_first_is_open(
    first: Callable[[], Proposal], second: Callable[[], Proposal]
) -> str:
    """What the second is told, who comes while the first has not committed yet."""
    with other_thread() as thread:
        with transaction.atomic():
            first()
            late = thread.submit(outcome, second)
            wait_until_blocked()
        return late.result(20)


def test_two_approvers_at_once_change_it_once(
    channel: Channel, olga: Person, bob: Person, both: Person
) -> None:
    asked = ask(olga, channel, WIDER)

    told = second_while_first_is_open(
        lambda: proposing.approve(bob, asked.pk), lambda: proposing.approve(both, asked.pk)
    )

    assert "is carried out (bob, " in told
    assert Event.objects.filter(kind="change_channel").count() == 1


def test_a_double_click_asks_once(channel: Channel, olga: Person) -> None:
    draft = proposing.draft(olga, channel, WIDER, channel.row_version)

    told = second_while_first_is_open(
        lambda: proposing.request(olga, draft.pk, "R"),
        lambda: proposing.request(olga, draft.pk, "R"),
    )

    assert "waits for approval (olga, " in told
    assert Event.objects.filter(kind="proposal_request").count() == 1


def test_of_two_changes_at_once_the_second_is_void(
    channel: Channel, olga: Person, bob: Person
) -> None:
    one, other = ask(olga, channel, WIDER), ask(olga, channel, {**WIDER, "max_attempts": 3})

    told = second_while_first_is_open(
        lambda: proposing.approve(bob, one.pk), lambda: proposing.approve(bob, other.pk)
    )

    channel.refresh_from_db()
    assert "is void: what it was about has moved" in told
    assert channel.max_attempts == 8


def test_a_request_that_somebody_answers_at_this_moment_is_waited_for_by_nobody(
    channel: Channel, olga: Person, bob: Person
) -> None:
    """Each would hold what the other waits for; whoever comes second sees that the row moved."""
    one, other = ask(olga, channel, WIDER), ask(olga, channel, {**WIDER, "max_attempts": 3})
    with second_connection() as answering:
        answering.execute("SELECT 1 FROM reviews_proposal WHERE id = %s FOR UPDATE", [other.pk])
        done = proposing.approve(bob, one.pk)

    with pytest.raises(VoidError, match="it was changed since it was looked at"):
        proposing.approve(bob, other.pk)

    other.refresh_from_db()
    assert (done.stage, other.stage) == (Stage.EXECUTED, Stage.VOID)


def test_code_that_changes_a_row_by_the_same_function_is_named(channel: Channel) -> None:
    editing.change(channel, NARROWER, editing.Author("deploy", {"reason": "release 7"}))

    event = Event.objects.get(kind="change_channel")
    assert (event.actor, event.detail["reason"]) == ("deploy", "release 7")
    with pytest.raises(EditError, match="Nothing would be different"):
        editing.change(channel, NARROWER, editing.Author("deploy", {}))
