"""The guide's own adapter, as it stands in the guide: it passes what the guide says it must."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from delivery.channels.api import ApiAdapter
from delivery.channels.contract import Envelope, Finding, Query
from delivery.outcomes import Accepted, Ambiguous
from delivery.timing import boottime
from tests.channels.faults import FAULTS
from tests.channels.notebook import Notebook
from tests.conformance import adapters
from tests.conformance.suite import Job
from tests.contract.vendor import SECRET, Answer, Ask, Vendor

GUIDE = Path(__file__).parents[2] / "docs" / "writing-a-channel.md"
KEY, TOKEN = "0f8fad5b-d9cb-469f-a165-70867728950e", "dlvq2mx9kabcdefghijkl"


def _from_the_guide() -> type[ApiAdapter]:
    found = re.search(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert found is not None
    module: dict[str, Any] = {"__name__": "board"}
    exec(found[1], module)  # noqa: S102  the guide's own code
    adapter: type[ApiAdapter] = module["BoardAdapter"]
    return adapter


BOARD = _from_the_guide()


class Board(Vendor):
    """What the guide imagines: a key for a day, and a look-up by key."""

    def __init__(self) -> None:
        super().__init__()
        self.window_s = 86_400.0

    def submission(self, ask: Ask) -> bool:
        return ask.path == "/notes"

    def accept(self, ask: Ask) -> Answer:
        assert ask.headers["authorization"] == f"Bearer {SECRET}"
        key = ask.headers["idempotency-key"]
        entry = self.known(key) or self.post(ask.json["board"], ask.json, key=key)
        return Answer(200, {"id": entry.id})

    def read(self, ask: Ask) -> Answer:
        entry = self.known(ask.path.rpartition("/")[2])
        said = {"found": True, "id": entry.id} if entry else {"found": False}
        return Answer(200, said)


def _made(url: str) -> adapters.Made:
    return BOARD({"base_url": url, "allow_private": True}, lambda: SECRET), "ops"


def _look(url: str) -> Finding:
    since = datetime.now(UTC) - timedelta(minutes=5)
    adapter, to = _made(url)
    (finding,) = adapter.look_up(Query("id", KEY, TOKEN, to, "", since), boottime() + 5)
    return finding


def test_a_lost_answer_is_found_by_key_and_the_key_protects() -> None:
    with Board() as vendor:
        adapter, to = _made(vendor.url)
        rendered = adapter.render(Envelope("All quiet.", to, 1, 1, TOKEN))
        before = _look(vendor.url)
        vendor.lose_answers = True
        lost = adapter.submit(rendered, KEY, Notebook())
        vendor.lose_answers = False
        after = _look(vendor.url)
        again = adapter.submit(rendered, KEY, Notebook())

    assert (before.verdict, after.verdict) == ("absent", "found")
    assert isinstance(lost, Ambiguous)
    assert isinstance(again, Accepted)
    assert vendor.effects == 1


@pytest.mark.parametrize("fault", FAULTS[::7], ids=lambda fault: fault.name)
def test_it_meets_faults_as_every_adapter_must(fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapters, "MADE", {**adapters.MADE, "board": _made})

    row = Job("board", fault.name, fault)()

    assert row.wrong == ""
    assert row.submissions <= 1


def test_its_tier_and_its_settings_are_what_the_guide_says() -> None:
    adapter, _ = _made("http://127.0.0.1:9")

    assert adapter.declare().tier == "A"
    assert adapter.check_settings(adapter.settings) == []
    assert adapter.normalise(" OPS ") == "ops"
