"""A configuration under which something could be sent twice is refused with the numbers in it."""

import json
import math
from typing import Any

import pytest
from django.core import checks
from django.core.exceptions import ValidationError

from delivery.channels.registry import ADAPTERS
from delivery.forms import ChannelForm
from delivery.policy import complaints
from ledgers.models import Channel, Credential
from tests.commands.shell import typed
from tests.conformance.adapters import MADE
from tests.factories import make_channel
from tests.retry.ways import DAY, HOUR, MINUTE

pytestmark = pytest.mark.django_db

# With the jitter, three pauses of together 24 h 30 min take up to 105840 s; the window of 24 h
# less half an hour of margin and the call's deadline leaves 84590 s.
TOO_LONG: dict[str, Any] = {
    "retry_schedule": [8 * HOUR + 10 * MINUTE],
    "max_attempts": 4,
    "margin_s": 30 * MINUTE,
    "deadline_s": 10,
    "lease_s": HOUR,
}
BOTH_NUMBERS = ("105840 s", "84590 s", "86400 s")
SETTINGS = {"url": "http://127.0.0.1:9", "dedupe_window_s": DAY}


def unsaved(**fields: Any) -> Channel:
    credential = Credential.objects.create(name="key", destination_rules=["*"])
    usual = {"slug": "alerts", "adapter": "simulator", "settings": SETTINGS}
    return Channel(credential=credential, **usual | fields)


def checked() -> list[checks.CheckMessage]:
    """What the system checks say about the channels in the database."""
    return [m for m in checks.run_checks(databases=["default"]) if "Channel" in m.msg]


def posted(channel: Channel) -> dict[str, Any]:
    """The channel as its form is filled in."""
    names = [name for name in ChannelForm.base_fields if name != "credential"]
    values = {name: getattr(channel, name) for name in names}
    return {"credential": channel.credential.name} | {
        name: json.dumps(value) if isinstance(value, list | dict) else value
        for name, value in values.items()
    }


def test_a_schedule_longer_than_the_window_is_refused_with_both_numbers_when_validated() -> None:
    with pytest.raises(ValidationError) as refused:
        unsaved(**TOO_LONG).full_clean()

    (said,) = refused.value.message_dict["retry_schedule"]
    assert all(number in said for number in BOTH_NUMBERS)
    assert "Shorten the schedule or allow fewer attempts" in said


def test_a_schedule_longer_than_the_window_is_refused_with_both_numbers_in_the_form() -> None:
    form = ChannelForm(posted(unsaved(**TOO_LONG)))

    said = str(form.errors["retry_schedule"])

    assert set(form.errors) == {"retry_schedule"}
    assert all(number in said for number in BOTH_NUMBERS)


def test_a_schedule_longer_than_the_window_is_an_error_at_start_with_both_numbers() -> None:
    make_channel(adapter="simulator", settings=SETTINGS, **TOO_LONG)

    (said,) = checked()

    assert isinstance(said, checks.Error)
    assert said.id == "delivery.E014"
    assert said.msg.startswith("Channel alerts, retry_schedule: ")
    assert all(number in said.msg for number in BOTH_NUMBERS)
    assert said.hint


def test_a_schedule_that_fits_with_its_jitter_is_taken() -> None:
    fits = {**TOO_LONG, "retry_schedule": [6 * HOUR + 30 * MINUTE]}

    channel = unsaved(**fits)
    channel.full_clean()
    channel.save()

    assert checked() == []
    assert ChannelForm(posted(channel), instance=channel).is_valid()


def test_without_a_window_no_schedule_is_too_long() -> None:
    unsaved(**TOO_LONG | {"settings": {"url": SETTINGS["url"]}}).full_clean()


@pytest.mark.parametrize("lease_s", [15, 14.9, 1])
def test_a_lease_that_does_not_outlive_deadline_and_margin_is_an_error(lease_s: float) -> None:
    times: dict[str, Any] = {"deadline_s": 10, "margin_s": 5, "lease_s": lease_s}
    make_channel(adapter="simulator", settings=SETTINGS, retry_schedule=[1], **times)

    (said,) = checked()
    with pytest.raises(ValidationError) as refused:
        Channel.objects.get().full_clean()

    assert isinstance(said, checks.Error)
    assert said.id == "delivery.E012"
    assert f"{lease_s:g} s" in said.msg
    assert "10 s + 5 s" in said.msg
    assert "above 15 s" in (said.hint or "")
    assert set(refused.value.message_dict) == {"lease_s"}


def test_a_deadline_below_what_the_provider_may_take_is_warned_about_with_both_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from delivery.channels.declaration import Declaration
    from delivery.channels.simulator import SimulatorAdapter

    slow = Declaration("simulator", deadline_s=160)
    monkeypatch.setattr(SimulatorAdapter, "declare", lambda _: slow)
    make_channel(adapter="simulator", settings=SETTINGS, deadline_s=150, lease_s=200)

    (said,) = checked()
    Channel.objects.get().full_clean()  # it is no reason to refuse it

    assert isinstance(said, checks.Warning)
    assert said.id == "delivery.W015"
    assert "150 s" in said.msg
    assert "160 s" in said.msg
    assert "160 s" in (said.hint or "")


@pytest.mark.parametrize("slug", ADAPTERS)
def test_no_channel_starts_with_a_warning_about_its_own_defaults(slug: str) -> None:
    adapter, _ = MADE[slug]("http://127.0.0.1:9")
    # A window of half an hour takes a schedule that fits in: the form says so, with both numbers.
    short = {"retry_schedule": [1, 5, 30, 120], "max_attempts": 5} if slug == "matrix" else {}
    new = unsaved(adapter=slug, settings=adapter.settings, **short)

    new.full_clean()

    # A mail server may take ten minutes (RFC 5321, 4.5.3.2.6), which no other channel should.
    assert [one.id for one in complaints(new)] == (["delivery.W015"] if slug == "email" else [])


@pytest.mark.parametrize(
    ("wrong", "field", "id_"),
    [
        ({"adapter": "pigeon"}, "adapter", "delivery.E010"),
        ({"settings": {}}, "settings", "delivery.E011"),
        ({"retry_schedule": []}, "retry_schedule", "delivery.E013"),
        ({"look_up_schedule": [-1]}, "look_up_schedule", "delivery.E013"),
        ({"lease_s": 1e18}, "lease_s", "delivery.E012"),
        ({"margin_s": math.nan}, "margin_s", "delivery.E012"),
        ({"deadline_s": -1}, "deadline_s", "delivery.E012"),
        ({"rate_per_s": -1}, "rate_per_s", "delivery.E016"),
    ],
)
def test_what_a_worker_would_hold_is_refused_at_its_field_and_checked_at_start(
    wrong: dict[str, Any], field: str, id_: str
) -> None:
    usual = {"adapter": "simulator", "settings": SETTINGS, "retry_schedule": [1]}
    make_channel(**usual | wrong)

    with pytest.raises(ValidationError) as refused:
        Channel.objects.get().full_clean()

    assert field in refused.value.message_dict
    assert {said.id for said in checked()} == {id_}
    assert all(said.hint for said in checked())


def test_a_field_that_is_no_number_is_named_and_the_rest_is_not_asked() -> None:
    with pytest.raises(ValidationError) as refused:
        unsaved(deadline_s="soon").full_clean()

    assert set(refused.value.message_dict) == {"deadline_s"}


def test_a_sound_channel_is_complained_about_nowhere() -> None:
    channel = make_channel(adapter="simulator", settings=SETTINGS, deadline_s=10)

    assert complaints(channel) == []
    assert checked() == []


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_starts_says_what_is_wrong_and_works_all_the_same() -> None:
    make_channel(adapter="simulator", settings=SETTINGS, **TOO_LONG)

    shift = typed("deliver", "--once")

    assert shift.code == 0
    assert "delivery.E014" in shift.err
    assert all(number in shift.err for number in BOTH_NUMBERS)
