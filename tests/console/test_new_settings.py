"""Channels and credentials: what a worker would hold or refuse is refused when it is saved."""

import json
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from delivery.forms import DECLARED
from ledgers.models import Channel, Credential, Event

SECRET = "hunter2-hunter2-hunter2"
ADD_CHANNEL, ADD_CREDENTIAL = "admin:channel_add", "admin:credential_add"


@pytest.fixture
def credential(db: None) -> Credential:
    return Credential.objects.create(name="key", destination_rules=["room:*"])


def filled(credential: Credential, /, **changed: Any) -> dict[str, Any]:
    """The form of a new channel, as a person fills it in."""
    form = {
        "slug": "rooms",
        "adapter": "simulator",
        "credential": credential.name,
        "settings": {"url": "http://127.0.0.1:9"},
        "deadline_s": 10,
        "margin_s": 5,
        "lease_s": 60,
        "retry_schedule": [1, 5],
        "look_up_schedule": [30],
        "max_attempts": 3,
        "concurrency": 0,
        "rate_per_s": 0,
        "resend_after_absent": "ask",
        "scopes_required": [],
        "reason": "a team asked for it",
    } | changed
    return {
        name: json.dumps(value) if isinstance(value, list | dict) else value
        for name, value in form.items()
    }


def errors_of(answer: Any) -> dict[str, str]:
    form = answer.context["form"]
    return {name: " ".join(texts) for name, texts in form.errors.items()}


def test_a_sound_channel_is_saved_and_the_trail_says_by_whom(
    admin: Client, credential: Credential
) -> None:
    answer = admin.post(reverse(ADD_CHANNEL), filled(credential))

    assert answer.status_code == 302
    assert Channel.objects.get().slug == "rooms"
    event = Event.objects.get(kind="add_channel")
    assert (event.actor, event.detail["channel"]) == ("superuser", "rooms")
    assert "127.0.0.1" not in json.dumps(event.detail)


@pytest.mark.parametrize(
    ("changed", "field", "said"),
    [
        ({"adapter": "pigeon"}, "adapter", "not one of the available choices"),
        ({"slug": "no spaces"}, "slug", "valid"),
        ({"settings": {"url": "http://example.com"}}, "settings", "http://127.0.0.1:PORT"),
        ({"settings": {"urll": "x"}}, "settings", "urll: no such setting; known are"),
        ({"settings": "{"}, "settings", "valid JSON"),
        ({"settings": []}, "settings", "is no object"),
        ({"settings": ""}, "settings", "is no object"),
        ({"settings": '{"url": NaN}'}, "settings", "finite number"),
        ({"settings": '{"url": "\\u0000"}'}, "settings", "NUL"),
        ({"settings": '{"url": "\\ud800"}'}, "settings", "lone surrogate"),
        ({"settings": '{"url": ' + "9" * 6000 + "}"}, "settings", "at most 64 bits"),
        ({"settings": "[" * 100_000}, "settings", "nested too deeply"),
        ({"retry_schedule": '["\\ud800"]'}, "retry_schedule", "lone surrogate"),
        ({"scopes_required": '["\\ud800"]'}, "scopes_required", "lone surrogate"),
        ({"lease_s": 15}, "lease_s", "does not outlive the call's deadline and margin"),
        ({"lease_s": "inf"}, "lease_s", "number"),
        ({"lease_s": "1e300"}, "lease_s", "less than or equal to 86400"),
        ({"lease_s": ""}, "lease_s", "required"),
        ({"deadline_s": 0}, "deadline_s", "greater than or equal to"),
        ({"retry_schedule": []}, "retry_schedule", "list of seconds"),
        ({"retry_schedule": ""}, "retry_schedule", "list of seconds"),
        ({"retry_schedule": [-1]}, "retry_schedule", "list of seconds"),
        ({"retry_schedule": ["1"]}, "retry_schedule", "list of seconds"),
        ({"retry_schedule": [1e300]}, "retry_schedule", "from 0 to a year"),
        ({"retry_schedule": "[Infinity]"}, "retry_schedule", "finite number"),
        ({"look_up_schedule": {"a": 1}}, "look_up_schedule", "list of seconds"),
        (
            {
                "settings": {"url": "http://127.0.0.1:9", "dedupe_window_s": 60},
                "retry_schedule": [600],
            },
            "retry_schedule",
            "but the provider's key protects only 45 s",
        ),
        ({"max_attempts": 0}, "max_attempts", "greater than or equal to 1"),
        ({"rate_per_s": -1}, "rate_per_s", "0 for no limit"),
        ({"scopes_required": "chat"}, "scopes_required", "valid JSON"),
        ({"scopes_required": [1]}, "scopes_required", "list of texts"),
        ({"credential": "nobody"}, "credential", "valid choice"),
    ],
)  # fmt: skip
def test_a_channel_that_could_not_work_is_refused_at_the_field(
    admin: Client, credential: Credential, changed: dict[str, Any], field: str, said: str
) -> None:
    answer = admin.post(reverse(ADD_CHANNEL), filled(credential, **changed))

    assert answer.status_code == 422
    assert said in errors_of(answer)[field]
    assert not Channel.objects.exists()


def test_a_channel_that_works_and_could_work_better_is_saved_with_a_word_about_it(
    admin: Client, credential: Credential
) -> None:
    hasty = {"slug": "hooks", "adapter": "webhook", "settings": {}, "deadline_s": 10}

    saved = admin.post(reverse(ADD_CHANNEL), filled(credential, **hasty), follow=True)
    usual = admin.post(
        reverse(ADD_CHANNEL), filled(credential, **hasty | {"slug": "slow", "deadline_s": 20}),
        follow=True,
    )  # fmt: skip

    assert Channel.objects.count() == 2
    assert "the deadline of 10 s is shorter than the 20 s" in saved.content.decode()
    assert "is shorter than" not in usual.content.decode()


def test_a_new_channel_starts_from_the_models_defaults(admin: Client) -> None:
    form = admin.get(reverse("admin:channel_new")).context["form"]

    shown = {name: form[name].value() for name in DECLARED}
    assert (shown["deadline_s"], shown["margin_s"], shown["lease_s"]) == (20, 5, 60)
    assert json.loads(shown["retry_schedule"]) == [1, 5, 30, 120, 600, 1800]
    assert json.loads(shown["look_up_schedule"]) == [30, 300, 3600]
    assert json.loads(shown["settings"]) == {}
    assert form["max_attempts"].value() == 8
    assert "costs none when the provider asks to come back later" in form["max_attempts"].help_text


def test_a_path_that_leads_nowhere_is_saved_with_a_warning(
    admin: Client, credential: Credential
) -> None:
    def saved_with(slug: str, options: dict[str, str]) -> list[str]:
        form = filled(credential, adapter="function", slug=slug, settings=options)
        answer = admin.post(reverse(ADD_CHANNEL), form, follow=True)
        return [str(m) for m in answer.context["messages"] if m.level_tag == "warning"]

    (nowhere,) = saved_with("one", {"path": "no_such_module.send"})
    ending = saved_with("two", {"path": "delivery.samples.write", "look_up_path": "this.nothing"})
    found = saved_with("three", {"path": "delivery.samples.write"})

    assert "path no_such_module.send cannot be imported (ModuleNotFoundError" in nowhere
    assert "A worker with another path may find it" in nowhere
    assert len(ending) == 1
    assert found == []
    assert Channel.objects.count() == 3


def test_the_settings_lead_to_the_guide_for_senders_of_ones_own(admin: Client) -> None:
    shown = admin.get(reverse("admin:channel_new")).content.decode()

    assert "docs/your-own-sender.md" in shown
    assert (settings.BASE_DIR / "docs/your-own-sender.md").exists()


@pytest.mark.parametrize(
    ("changed", "field", "said"),
    [
        ({"secret_ref": SECRET}, "secret_ref", "write env:NAME or file:/path"),
        ({"destination_rules": ["https://a*"]}, "destination_rules", "end the host with a slash"),
        ({"destination_rules": "x"}, "destination_rules", "valid JSON"),
        ({"destination_rules": {"a": 1}}, "destination_rules", "list of patterns"),
        ({"scopes": [None]}, "scopes", "list of texts"),
        ({"scopes": '["\\udfff"]'}, "scopes", "lone surrogate"),
        ({"destination_rules": '["\\ud800*"]'}, "destination_rules", "lone surrogate"),
    ],
)
def test_a_credential_that_could_not_work_is_refused_at_the_field(
    admin: Client, changed: dict[str, Any], field: str, said: str
) -> None:
    form = {"name": "new", "secret_ref": "", "identity": "", "scopes": [], "destination_rules": []}
    form["reason"] = "a team asked for it"
    sent = {
        k: json.dumps(v) if isinstance(v, list | dict) else v for k, v in (form | changed).items()
    }

    answer = admin.post(reverse(ADD_CREDENTIAL), sent)

    assert answer.status_code == 422
    assert said in errors_of(answer)[field]


def test_a_secret_is_never_on_a_page_only_whether_it_is_found(
    admin: Client, credential: Credential, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTERFOIL_TEST_SECRET", SECRET)
    Credential.objects.update(secret_ref="env:COUNTERFOIL_TEST_SECRET")

    found = admin.get(reverse("admin:credential", args=["key"])).content.decode()
    monkeypatch.delenv("COUNTERFOIL_TEST_SECRET")
    missing = admin.get(reverse("admin:credential", args=["key"])).content.decode()

    assert "found, fingerprint" in found
    assert "not found: the environment variable COUNTERFOIL_TEST_SECRET is not set" in missing
    assert SECRET not in found
