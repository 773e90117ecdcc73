"""Which changes take a second person: every field, in both directions."""

from typing import Any

import pytest

from delivery.authority import covered_by, rule_complaints
from delivery.channels.registry import ADAPTERS
from delivery.editing import values_of
from reviews.differences import differences
from reviews.widening import CHANNEL, CREDENTIAL, SETTINGS, widens
from tests.factories import make_channel

# field, the narrower value, the wider one
# Looks like https://hooks.example.com/ and is another host; its second letter is Cyrillic.
ALIKE = "https://h\u043eoks.example.com/*"
STEPS: list[tuple[str, str, Any, Any]] = [
    ("channel", "lease_s", 60, 30),
    ("channel", "margin_s", 5, 1),
    ("channel", "deadline_s", 10, 20),
    ("channel", "concurrency", 2, 4),
    ("channel", "concurrency", 2, 0),
    ("channel", "rate_per_s", 1.0, 2.0),
    ("channel", "rate_per_s", 1.0, 0),
    ("channel", "resend_after_absent", "ask", "automatic"),
    ("channel", "requires_approval", True, False),
    ("channel", "for_testing", False, True),
    ("channel", "settings.dedupe_window_s", 3_600, 7_200),
    ("channel", "settings.allow_private", False, True),
    ("channel", "settings.allow_http", False, True),
    ("channel", "settings.look_up_authoritative", False, True),
    ("channel", "settings.surface_complete", False, True),
    ("channel", "settings.processing_s", 30, 5),
    ("channel", "settings.refusals", [400], [400, 404]),
    ("channel", "settings.conflict", "ambiguous", "accepted"),
    ("channel", "settings.redirect", "ambiguous", "refused"),
    ("channel", "settings.rate_limit", "ambiguous", "deferred"),
    ("credential", "accept_secret", False, True),
    ("credential", "scopes", ["read"], ["read", "write"]),
    ("credential", "destination_rules", ["https://a.example/*"], ["*"]),
    ("credential", "destination_rules", [], ["tg:1"]),
]


@pytest.mark.parametrize(("what", "field", "narrow", "wide"), STEPS)
def test_a_step_out_takes_two_people_and_the_step_back_takes_one(
    what: str, field: str, narrow: Any, wide: Any
) -> None:
    assert widens(what, field, narrow, wide)
    assert not widens(what, field, wide, narrow)


@pytest.mark.parametrize(
    ("what", "field", "one", "other"),
    [
        ("channel", "adapter", "webhook", "function"),
        ("channel", "credential", "a", "b"),
        ("channel", "scopes_required", ["a", "b"], ["a"]),
        ("channel", "settings.path", "a.b", "c.d"),
        ("channel", "settings.url", "http://127.0.0.1:1", "http://127.0.0.1:2"),
        ("channel", "settings.look_up_url", "", "https://a.example/{key}"),
        ("channel", "settings.dedupe_window_source", "a page", "a rumour"),
        ("channel", "settings.conflict", "accepted", "in_flight"),
        ("channel", "settings.of_tomorrow", 1, 2),
        ("credential", "name", "a", "b"),
        ("credential", "secret_ref", "env:A", "env:B"),
        ("credential", "identity", "a", "b"),
    ],
)
def test_what_is_neither_wider_nor_narrower_takes_two_people_both_ways(
    what: str, field: str, one: Any, other: Any
) -> None:
    assert widens(what, field, one, other)
    assert widens(what, field, other, one)


@pytest.mark.parametrize("field", ["retry_schedule", "look_up_schedule", "max_attempts"])
def test_what_changes_neither_protection_nor_authority_takes_one(field: str) -> None:
    assert not widens("channel", field, [1], [600])


@pytest.mark.parametrize("broken", [None, "x", {"a": 1}, [1]])
def test_a_broken_value_is_never_a_reason_to_ask_fewer_people(broken: Any) -> None:
    assert widens("channel", "settings.dedupe_window_s", broken, 60)
    assert widens("credential", "destination_rules", broken, ["tg:*"])
    assert widens("credential", "scopes", broken, ["write"])


@pytest.mark.django_db
def test_every_field_that_can_be_changed_has_been_judged() -> None:
    channel = make_channel()

    assert CHANNEL.keys() == values_of(channel).keys() - {"settings"}
    assert CREDENTIAL.keys() == values_of(channel.credential).keys()


def test_no_setting_is_judged_that_no_adapter_knows() -> None:
    assert SETTINGS.keys() <= {name for adapter in ADAPTERS.values() for name in adapter.known}


@pytest.mark.parametrize(
    ("rule", "rules", "covered"),
    [
        ("https://a.example/x", ["https://a.example/*"], True),
        ("https://a.example/x/*", ["https://a.example/*"], True),
        ("https://a.example/*", ["https://a.example/x/*"], False),
        ("https://a.example/*", ["https://a.example/"], False),
        ("*", ["https://a.example/*", "*@a.example"], False),
        ("*@a.example", ["*"], True),
        ("*@a.example", ["*@a.example"], True),
        ("*@b.a.example", ["*@a.example"], False),
        ("ann@a.example", ["*@a.example"], True),
        ("ann*", ["*@a.example"], False),
        ("tg:1", [], False),
    ],
)
def test_a_rule_is_covered_only_by_one_that_allows_all_it_allows(
    rule: str, rules: list[str], covered: bool
) -> None:
    assert covered_by(rule, rules) is covered


def lines(before: dict[str, Any], after: dict[str, Any]) -> dict[str, tuple[str, str, bool]]:
    found = differences("channel", {"adapter": "webhook"} | before, after)
    return {line.label: (line.before_text, line.after_text, bool(line.why)) for line in found}


def test_settings_differ_one_by_one_and_what_is_not_set_counts_as_its_default() -> None:
    before = {"settings": {"allow_http": True, "conflict": "accepted", "body": "wrapped"}}

    found = lines(before, {"settings": {"dedupe_window_s": 60, "conflict": "accepted"}})

    assert found == {
        "allow http": ("yes", "no (the default)", False),
        "dedupe window s": ("0", "60", True),
    }


def test_another_adapter_is_shown_with_all_its_settings() -> None:
    found = lines({"settings": {"body": "content"}}, {"adapter": "pigeon", "settings": {"a": 1.0}})

    assert found["adapter"] == ("webhook", "pigeon", True)
    assert found["a"] == ("nothing", "1", True)
    assert found["body"] == ("content", "nothing (the default)", True)


def test_a_rule_with_letters_of_another_script_is_told_apart_from_what_it_looks_like() -> None:
    why = widens("credential", "destination_rules", ["https://hooks.example.com/a"], [ALIKE])

    assert "not all of it is ASCII: https://h\\u043eoks.example.com/*" in why


@pytest.mark.parametrize("rule", ["https://a.example/\u202e*", "\u200bhttps://a.example/", "tg:1 "])
def test_a_rule_with_what_nobody_can_see_is_none(rule: str) -> None:
    (complaint,) = rule_complaints([rule])

    assert ascii(rule) in complaint


def test_a_difference_shows_what_nobody_can_see_and_what_turns_text_round() -> None:
    before = {"identity": "ops", "scopes": ["a"]}
    identity, scopes = differences(
        "credential", before, {"identity": "bot\u202etset", "scopes": ["b\u200b"]}
    )

    assert identity.after_text == "bot\\u202etset"
    assert (scopes.added, scopes.gone) == (["b\\u200b"], ["a"])
