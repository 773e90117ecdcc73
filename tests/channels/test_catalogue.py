"""The document about all channels is what the adapters declare, and nothing else."""

from pathlib import Path

import pytest

from delivery.channels.catalogue import catalogue, declared_at_best, declared_at_least
from delivery.channels.declaration import TIERS
from delivery.channels.registry import ADAPTERS
from tests.commands.shell import typed

DOCUMENT = Path(__file__).parents[2] / "docs" / "channels.md"


def test_the_document_is_fresh() -> None:
    assert DOCUMENT.read_text() == catalogue(), (
        "run: manage.py adapters --markdown > docs/channels.md"
    )


@pytest.mark.parametrize("name", ADAPTERS)
def test_the_best_settings_are_right_ones_and_promise_no_less(name: str) -> None:
    adapter = ADAPTERS[name]
    required = {n for n, one in adapter.known.items() if one.required and n not in adapter.best}
    complaints = [
        c for c in adapter.check_settings(adapter.best) if c.split(":")[0] not in required
    ]

    assert complaints == []
    assert list(TIERS).index(declared_at_best(adapter).tier) <= list(TIERS).index(
        declared_at_least(adapter).tier
    )


def test_the_command_lists_all_and_tells_one_in_full() -> None:
    listed, one = typed("adapters").out, typed("adapters", "webhook").out

    assert all(name in listed for name in ADAPTERS)
    assert "look_up_url" in one


def test_an_adapter_that_is_not_there_is_named_with_those_that_are() -> None:
    told = typed("adapters", "carrier-pigeon")

    assert told.code == 2
    assert "webhook" in told.err
