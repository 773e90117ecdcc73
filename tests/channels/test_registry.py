"""Adapters by name, and the tables of their settings."""

from types import SimpleNamespace

import pytest

from delivery.channels.registry import ADAPTERS, adapter_class, adapter_for
from delivery.channels.settings import flag, number, text
from delivery.channels.webhook import WebhookAdapter
from delivery.errors import UnknownAdapterError


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownAdapterError, match=r"discord, .*, webhook"):
        adapter_class("fax")


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_name_leads_to_the_adapter_of_that_name(name: str) -> None:
    assert adapter_class(name).slug == name


def test_a_channels_row_makes_an_adapter_that_reads_its_secret_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    channel = SimpleNamespace(
        adapter="webhook",
        settings={"dedupe_window_s": 60},
        credential=SimpleNamespace(secret_ref="env:HOOK"),
    )

    adapter = adapter_for(channel)
    monkeypatch.setenv("HOOK", "set afterwards")

    assert isinstance(adapter, WebhookAdapter)
    assert adapter.option("dedupe_window_s") == 60
    assert adapter.option("allow_private") is False
    assert adapter.secret() == "set afterwards"


@pytest.mark.parametrize("name", ADAPTERS)
def test_every_setting_is_explained_and_its_default_is_right(name: str) -> None:
    for setting in adapter_class(name).known.values():
        assert setting.about.endswith(".")
        assert setting.required or setting.is_right(setting.default)


@pytest.mark.parametrize(
    ("setting", "right", "wrong"),
    [
        (flag("x"), [True, False], [0, 1, "true", None]),
        (number("x", default=1, least=1, most=5), [1, 5, 2.5], [0, 6, True, "3", None, 1e99]),
        (text("x"), ["", "a"], [1, None, ["a"]]),
        (text("x", required=True), ["a"], ["", None]),
    ],
)
def test_a_setting_knows_right_from_wrong(
    setting: object, right: list[object], wrong: list[object]
) -> None:
    is_right = setting.is_right  # type: ignore[attr-defined]

    assert [value for value in right if not is_right(value)] == []
    assert [value for value in wrong if is_right(value)] == []
