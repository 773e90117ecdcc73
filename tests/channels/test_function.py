"""A sender of one's own: what it gets, what its answers mean, and that it cannot hold a worker."""

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from delivery.channels import function
from delivery.channels.contract import Envelope, Finding, Query
from delivery.channels.function import FunctionAdapter
from delivery.errors import BadContentError, BadDestinationError, NotSentError, RefusedError
from delivery.outcomes import Accepted, Ambiguous, Deferred, NotSent, Outcome, Refused
from delivery.timing import boottime
from tests.channels.notebook import Notebook
from tests.channels.senders import Said

TOLD = "tests.channels.senders.told"
RECOGNIZER = "dlvq2mx9kabcdefghijkl"


@pytest.fixture(autouse=True)
def nothing_said_yet() -> Iterator[None]:
    Said.returns, Said.raises, Said.waits_for = None, None, None
    Said.received.clear()
    yield
    _let_go()


def _let_go() -> None:
    """Let threads return that a test left behind."""
    if Said.waits_for is not None:
        Said.waits_for.set()


def sender(path: str = TOLD, **settings: Any) -> FunctionAdapter:
    return FunctionAdapter({"path": path, **settings}, lambda: "")


def send(adapter: FunctionAdapter, journal: Notebook | None = None) -> Outcome:
    rendered = adapter.render(Envelope({"text": "hi", "n": [1]}, "ops", 1, 1, RECOGNIZER))
    return adapter.submit(rendered, "the-key", journal or Notebook())


def test_it_gets_everything_by_keyword() -> None:
    send(sender(), Notebook(seconds=3))

    (received,) = Said.received
    left_s = received.pop("deadline")
    assert received == {
        "destination": "ops",
        "payload": {"text": "hi", "n": [1]},
        "key": "the-key",
        "recognizer": RECOGNIZER,
    }
    assert 2.5 < left_s <= 3


@pytest.mark.parametrize(
    ("returned", "outcome"),
    [
        ("m7", Accepted("m7")),
        (17, Accepted("17")),
        ("", Accepted()),
        (None, Accepted()),
        ("a\x00b\ud800", Accepted("a\ufffdb?")),
        ("x" * 300, Accepted("x" * 200)),
        (Deferred("busy", 5.0), Deferred("busy", 5.0)),
        (Ambiguous("hm"), Ambiguous("hm")),
        ({"id": 1}, Accepted(response="returned a dict, which names no id")),
    ],
)
def test_what_it_returns_is_the_id_or_the_outcome(returned: Any, outcome: Outcome) -> None:
    Said.returns = returned

    assert send(sender()) == outcome


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (NotSentError("no line"), NotSent),
        (RefusedError("gone for good"), Refused),
        (ConnectionRefusedError("even this"), Ambiguous),
        (ValueError("a bug"), Ambiguous),
        (SystemExit(3), Ambiguous),
        (KeyboardInterrupt(), Ambiguous),
        (GeneratorExit(), Ambiguous),
    ],
)
def test_what_it_raises_is_unknown_unless_it_says_otherwise(
    raised: BaseException, kind: type
) -> None:
    Said.raises = raised

    outcome = send(sender())

    assert isinstance(outcome, kind)
    assert type(raised).__name__ in outcome.why  # type: ignore[union-attr]


def test_a_coroutine_is_awaited() -> None:
    Said.returns = "m7"

    assert send(sender("tests.channels.senders.told_async")) == Accepted("m7")


def test_a_coroutine_is_cancelled_at_its_deadline() -> None:
    Said.waits_for = threading.Event()

    outcome = send(sender("tests.channels.senders.told_async"), Notebook(seconds=0.1))

    assert isinstance(outcome, Ambiguous)
    assert "TimeoutError" in outcome.why


def test_a_late_answer_is_still_an_answer() -> None:
    Said.returns, Said.waits_for = "m7", threading.Event()
    threading.Timer(0.3, Said.waits_for.set).start()

    assert send(sender(overrun_s=5), Notebook(seconds=0.1)) == Accepted("m7")


def test_one_that_never_returns_is_left_behind() -> None:
    Said.waits_for = threading.Event()
    started = time.monotonic()

    outcome = send(sender(overrun_s=0.1), Notebook(seconds=0.1))

    assert isinstance(outcome, Ambiguous)
    assert time.monotonic() - started < 2


def test_too_many_left_behind_hold_the_channel_until_they_return(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(function, "MAX_OVERDUE", 2)
    Said.waits_for = threading.Event()
    adapter = sender(overrun_s=0)
    for _ in range(2):
        send(adapter, Notebook(seconds=0.05))

    held = send(adapter)

    assert "have not returned" in adapter.ready()
    assert held == NotSent(adapter.ready(), tried=False)
    assert len(Said.received) == 2
    Said.waits_for.set()
    until = time.monotonic() + 5
    while adapter.ready() and time.monotonic() < until:
        time.sleep(0.005)  # two foreign threads end: there is nothing to wait on
    assert adapter.ready() == ""


def test_a_surprise_before_it_is_called_is_not_sent() -> None:
    def broken() -> None:
        raise RuntimeError("a bug")

    outcome = send(sender(), Notebook(at_last_check=broken))

    assert isinstance(outcome, NotSent)
    assert Said.received == []


@pytest.mark.parametrize(
    "path",
    [
        "tests.channels.senders.absent",
        "tests.channels.nowhere.send",
        "tests.channels.senders.NOT_CALLABLE",
        "tests.channels.senders.too_few",
        "",
    ],
)
def test_a_function_that_cannot_be_called_holds_the_channel(path: str) -> None:
    adapter = sender(path)

    outcome = send(adapter)

    assert adapter.ready()
    assert outcome == NotSent(adapter.ready(), tried=False)


# --- Content and destinations ------------------------------------------------------------------


def test_any_content_will_do_without_a_part_limit() -> None:
    assert sender().split([1, {"a": None}]) == [[1, {"a": None}]]


def test_long_text_is_split_where_a_limit_is_set() -> None:
    adapter = sender(part_limit=10, part_unit="code_points")

    assert adapter.split({"text": "a" * 25, "n": 1}) == [
        {"text": "a" * 10, "n": 1},
        {"text": "a" * 10, "n": 1},
        {"text": "a" * 5, "n": 1},
    ]


@pytest.mark.parametrize("content", [1, None, {"txt": "a"}, {"text": 1}, {"text": " "}, ""])
def test_with_a_part_limit_content_must_have_text(content: Any) -> None:
    with pytest.raises(BadContentError):
        sender(part_limit=10).split(content)


def test_a_destination_is_taken_as_it_is() -> None:
    assert sender().normalise("  Ops Team ") == "Ops Team"


@pytest.mark.parametrize("given", ["", "None", "USER", "heartbeat", "x" * 1001, "a\nb", "a\x00"])
def test_a_placeholder_is_no_destination(given: str) -> None:
    with pytest.raises(BadDestinationError):
        sender().normalise(given)


# --- Look-ups ------------------------------------------------------------------------------------


def look_up(**settings: Any) -> list[Finding]:
    query = Query("d", "the-key", RECOGNIZER, "ops", "", datetime(2026, 11, 29, tzinfo=UTC))
    return list(sender(**settings).look_up(query, boottime() + 3))


@pytest.mark.parametrize(
    ("said", "authoritative", "verdict"),
    [
        ("m7", False, "found"),
        (True, False, "found"),
        (False, False, "inconclusive"),
        (False, True, "absent"),
        (None, True, "inconclusive"),
        ("", True, "inconclusive"),
        (0, True, "inconclusive"),
        ([], True, "inconclusive"),
    ],
)
def test_its_look_up_proves_only_what_is_declared(
    said: Any, authoritative: bool, verdict: str
) -> None:
    Said.returns = said

    (finding,) = look_up(look_up_path=TOLD, look_up_authoritative=authoritative)

    assert finding.verdict == verdict
    assert Said.received[0]["key"] == "the-key"
    assert Said.received[0]["recognizer"] == RECOGNIZER


def test_its_look_up_may_return_a_finding() -> None:
    Said.returns = Finding("surface_scan", "found_many", "the archive")

    assert look_up(look_up_path=TOLD) == [Said.returns]


def test_a_look_up_that_raises_proves_nothing() -> None:
    Said.raises = OSError("down")

    (finding,) = look_up(look_up_path=TOLD, look_up_authoritative=True)

    assert finding.verdict == "inconclusive"
    assert "OSError: down" in finding.why


def test_without_a_look_up_nothing_is_declared() -> None:
    assert look_up() == []
    assert not sender().declare().can_look_up


def test_a_path_is_required() -> None:
    assert FunctionAdapter.check_settings({}) == [
        "path: is missing, must be a dotted path such as my_app.sending.send"
    ]
    assert FunctionAdapter.check_settings({"path": "no dots"})
    assert FunctionAdapter.check_settings({"path": TOLD}) == []
