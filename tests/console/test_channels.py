"""Channels and credentials: what they promise, how far they reach, and their switches."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from delivery import switches
from delivery.errors import SwitchError
from delivery.switches import HELD, PAUSED
from ledgers.clock import ClockTimestamp, database_now
from ledgers.models import Channel, Credential, Event, Installation, OutboxItem
from ledgers.states import DeliveryStatus as S
from reviews.capability import capability
from reviews.charts.schedule import LEFT, RIGHT, schedule_of
from reviews.foresight import foresee
from tests.console.conftest import As
from tests.factories import SENDER, delivery, make_channel, record, sweep
from tests.ledgers.rows import row_in

pytestmark = pytest.mark.django_db


def keyed(slug: str = "keyed", **fields: Any) -> Channel:
    usual: dict[str, Any] = {"settings": {"path": SENDER, "dedupe_window_s": 3_600}}
    return make_channel(slug, **usual | fields)


def text_of(client: Client, name: str, *args: object) -> str:
    return client.get(reverse(f"admin:{name}", args=args)).content.decode()


def switch(client: Client, name: str, *args: object, **form: Any) -> str:
    """Press a switch, and read what the page says then."""
    answer = client.post(reverse(f"admin:{name}", args=args), form, follow=True)
    return answer.content.decode()


# --- What is shown -----------------------------------------------------------------------------
def test_a_window_shows_its_length_source_and_confidence(admin: Client) -> None:
    keyed()

    text = text_of(admin, "channel", "keyed")

    assert "1 h" in text
    assert "(confidence: operator)" in text


def test_a_window_that_is_undocumented_is_worded_so(admin: Client, channel: Channel) -> None:
    words = capability(channel).window_words

    assert words in {
        "undocumented: counts as none",
        "no key is honoured: a second submission is a second message",
    }
    assert words in text_of(admin, "channels")


def test_scopes_are_shown_as_required_granted_and_never_verified(
    admin: Client, channel: Channel
) -> None:
    Credential.objects.update(scopes=["chat:write", "admin"])

    text = text_of(admin, "channel", "alerts")

    assert "files:read: missing" in text
    assert "chat:write: missing" not in text
    assert "<code>admin</code>" in text
    assert "never read back from the provider" in text
    assert "lacks files:read" in text_of(admin, "channels")


def test_a_credential_shows_where_its_secret_is_read_and_never_the_secret(
    admin: Client, channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTERFOIL_TEST_SECRET", "hunter2-hunter2")
    Credential.objects.update(secret_ref="env:COUNTERFOIL_TEST_SECRET")

    for text in (text_of(admin, "channel", "alerts"), text_of(admin, "credentials")):
        assert "env:COUNTERFOIL_TEST_SECRET" in text
        assert "hunter2" not in text


def test_an_adapter_that_is_not_installed_is_said_and_breaks_no_page(
    admin: Client, channel: Channel
) -> None:
    Channel.objects.update(adapter="carrier-pigeon")

    assert "misconfigured" in text_of(admin, "channels")
    assert "carrier-pigeon: not installed here" in text_of(admin, "channel", "alerts")


@pytest.mark.parametrize("schedule", [[], "x", [-1], [1e300], None])
def test_a_schedule_that_is_none_breaks_no_page(
    admin: Client, channel: Channel, schedule: Any
) -> None:
    Channel.objects.update(retry_schedule=schedule if schedule is not None else {"a": 1})

    assert "retry_schedule" in text_of(admin, "channel", "alerts")


def test_there_is_no_page_of_a_channel_that_is_none(admin: Client) -> None:
    assert admin.get(reverse("admin:channel", args=["nowhere"])).status_code == 404


# --- The schedule, drawn -----------------------------------------------------------------------
def test_tries_within_the_window_are_protected_and_later_ones_are_not() -> None:
    one = capability(keyed(retry_schedule=[60, 3_600], max_attempts=3))

    drawn = schedule_of(one)

    assert [t.protected for t in drawn.tries] == [True, True, False]
    assert drawn.unprotected == 1
    xs = [t.x for t in drawn.tries]
    assert xs == sorted(xs)
    assert LEFT <= xs[0] < drawn.room_x < drawn.window_x < xs[2] <= RIGHT  # type: ignore[operator]


def test_without_a_key_no_try_is_protected_and_no_window_is_drawn(channel: Channel) -> None:
    drawn = schedule_of(capability(channel))

    assert drawn.window_x is None
    assert not any(t.protected for t in drawn.tries)


# --- Pause and resume --------------------------------------------------------------------------
def test_pausing_takes_a_reason_and_is_in_the_trail(admin: Client, channel: Channel) -> None:
    text = switch(admin, "pause", "alerts", reason=" number  is being ported ")

    channel.refresh_from_db()
    event = Event.objects.get(kind="pause")
    assert channel.pause_reason == "number is being ported"
    assert event.detail == {"channel": "alerts", "reason": "number is being ported"}
    assert event.actor == "superuser"
    assert "The channel alerts is paused" in text


@pytest.mark.parametrize("reason", ["", "   ", "x" * 301, "a\x00b"])
def test_a_switch_without_a_proper_reason_changes_nothing(
    admin: Client, channel: Channel, reason: str
) -> None:
    for name, args in (("pause", ["alerts"]), ("hold", [])):
        assert "Say why" in switch(admin, name, *args, reason=reason)

    channel.refresh_from_db()
    assert channel.paused_at is None
    assert Installation.objects.get().held_at is None
    assert not Event.objects.filter(kind__in=["pause", "hold_all"]).exists()


def test_whoever_pauses_second_is_told_and_the_first_reason_stays(
    admin: Client, channel: Channel
) -> None:
    switch(admin, "pause", "alerts", reason="first")

    text = switch(admin, "pause", "alerts", reason="second")

    channel.refresh_from_db()
    assert "paused already" in text
    assert channel.pause_reason == "first"


def test_the_page_shows_what_resuming_sends_and_what_has_expired(
    admin: Client, channel: Channel
) -> None:
    record(["tg:1", "tg:2"])
    record(["tg:late"], run_id="run-2", not_after=database_now() + timedelta(milliseconds=1))
    record(["tg:later"], run_id="run-3", not_before=database_now() + timedelta(days=1))
    switches.pause(channel, "audit", "ann")

    seen = foresee([channel.pk], PAUSED)

    assert seen.waiting == 4
    assert dict(seen.courses) == {
        "sent at once": 2,
        "expired meanwhile: not sent": 1,
        "sent later, when its time comes": 1,
    }
    text = text_of(admin, "channel", "alerts")
    assert "<strong>2</strong> sent at once" in text
    assert "<strong>1</strong> expired meanwhile: not sent" in text


def test_what_something_else_holds_as_well_is_not_promised(channel: Channel) -> None:
    record()
    switches.pause(channel, "audit", "ann")
    switches.hold("fire", "ann")

    assert dict(foresee([channel.pk], PAUSED).courses) == {"still held by something else": 1}
    assert dict(foresee([channel.pk], HELD).courses) == {"still held by something else": 1}


def test_an_unknown_delivery_is_not_sent_by_resuming(channel: Channel) -> None:
    row_in(S.UNKNOWN)
    switches.pause(channel, "audit", "ann")

    assert dict(foresee([channel.pk], PAUSED).courses) == {"waits for a person": 1}


def test_resuming_is_about_the_pause_that_was_looked_at(admin: Client, channel: Channel) -> None:
    switches.pause(channel, "audit", "ann")
    channel.refresh_from_db()
    assert channel.paused_at is not None
    looked_at = channel.paused_at.isoformat()
    Channel.objects.update(paused_at=ClockTimestamp(), pause_reason="another matter")

    text = switch(admin, "resume", "alerts", reason="over", seen=looked_at)

    channel.refresh_from_db()
    assert "not paused as it was when you looked" in text
    assert channel.pause_reason == "another matter"


@pytest.mark.parametrize("seen", ["", "yesterday", "2026-13-45T99:99:99"])
def test_resuming_what_nobody_looked_at_changes_nothing(
    admin: Client, channel: Channel, seen: str
) -> None:
    switches.pause(channel, "audit", "ann")

    switch(admin, "resume", "alerts", reason="over", seen=seen)

    channel.refresh_from_db()
    assert channel.paused_at is not None


def test_the_form_on_the_page_resumes(admin: Client, channel: Channel) -> None:
    switches.pause(channel, "audit", "ann")
    text = text_of(admin, "channel", "alerts")
    start = text.index('name="seen" value="') + len('name="seen" value="')

    switch(admin, "resume", "alerts", reason="over", seen=text[start : text.index('"', start)])

    channel.refresh_from_db()
    assert (channel.paused_at, channel.pause_reason) == (None, "")
    assert Event.objects.get(kind="resume").detail["reason"] == "over"


def test_who_may_not_switch_sees_no_switch_and_why(browse_as: As, channel: Channel) -> None:
    text = text_of(browse_as("viewer"), "channel", "alerts")

    assert 'method="post" action="/channels' not in text
    assert "operate_channels" in text


@pytest.mark.django_db(transaction=True)
def test_a_pause_holds_what_is_owed_and_resuming_sends_it_on_at_once() -> None:
    channel = make_channel()
    record(["tg:paused"])
    switches.pause(channel, "audit", "ann")
    sweep()
    assert delivery("tg:paused").status == S.PENDING

    channel.refresh_from_db()
    switches.resume(channel, channel.paused_at, "over", "ann")
    sweep()

    assert delivery("tg:paused").status == S.DELIVERED
    assert not OutboxItem.objects.exists()


# --- Everything at once ------------------------------------------------------------------------
@pytest.mark.django_db(transaction=True)
def test_a_hold_stops_everything_and_releasing_sends_it_on_at_once() -> None:
    make_channel()
    record(["tg:held"])
    switches.hold("fire", "ann")
    sweep()
    held = delivery("tg:held")

    switches.release(Installation.objects.get().held_at, "out", "ann")
    sweep()

    assert (held.status, "everything is held: fire" in held.cause) == (S.PENDING, True)
    assert delivery("tg:held").status == S.DELIVERED
    kinds = list(Event.objects.filter(delivery=None, run=None).values_list("kind", flat=True))
    assert kinds == ["hold_all", "release_all"]


def test_releasing_is_about_the_hold_that_was_looked_at() -> None:
    switches.hold("fire", "ann")

    with pytest.raises(SwitchError, match="not held as it was"):
        switches.release(database_now(), "out", "ann")
    with pytest.raises(SwitchError, match="held already"):
        switches.hold("flood", "ann")

    assert Installation.objects.get().held_reason == "fire"


def test_the_page_of_all_channels_holds_and_releases(admin: Client, channel: Channel) -> None:
    record()

    held = switch(admin, "hold", reason="fire")
    seen = Installation.objects.get().held_at
    assert seen is not None
    assert "Everything is held" in held
    assert "<strong>1</strong> sent at once" in held

    released = switch(admin, "release", reason="out", seen=seen.isoformat())

    assert Installation.objects.get().held_at is None
    assert "Nothing is held any more" in released


@pytest.mark.django_db(transaction=True)
def test_pausing_one_channel_leaves_the_others_alone() -> None:
    paused, other = make_channel("alerts"), make_channel("other")
    del other
    record(["tg:stays"])
    record(["tg:goes"], run_id="run-2", channel="other")
    switches.pause(paused, "audit", "ann")

    sweep()

    assert delivery("tg:stays").status == S.PENDING
    assert delivery("tg:goes", "run-2").status == S.DELIVERED
