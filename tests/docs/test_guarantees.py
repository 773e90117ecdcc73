"""Each promise names the tests that show it, and they are there."""

import re

import pytest

from tests.docs.pages import ROOT

TEXT = (ROOT / "docs/guarantees.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT)))


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_a_test_that_is_named_exists(file: str, name: str) -> None:
    path = ROOT / file

    assert path.exists()
    assert re.search(rf"^ *def {name}\(", path.read_text("utf-8"), re.MULTILINE)


def test_every_promise_is_shown_by_a_test() -> None:
    _, promises, _ = re.split(r"^## What no sender.*|^## The promises$", TEXT, flags=re.MULTILINE)

    parts = re.split(r"^\*\*\d+\. ", promises, flags=re.MULTILINE)[1:]

    assert len(parts) >= 15
    assert [part[:40] for part in parts if "::test_" not in part] == []
