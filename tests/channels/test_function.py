"""A sender of one's own: what it gets, what its answers mean, and that it cannot hold a worker."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from delivery.channels import bounded_import, function
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
    Said.threads.clear()
    yield
    _let_go()


def _let_go() -> None:
    """Let threads return that a failed test left waiting."""
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
        (True, Accepted()),
        (None, Accepted()),
        ("a\x00b\ud800", Accepted("a\ufffdb?")),
        ("x" * 300, Accepted("x" * 200)),
        (Deferred("busy", 5.0), Deferred("busy", 5.0)),
        (Ambiguous("hm"), Ambiguous("hm")),
    ],
)
def test_what_it_returns_is_the_id_or_the_outcome(returned: Any, outcome: Outcome) -> None:
    Said.returns = returned

    assert send(sender()) == outcome


def _unstarted() -> Iterator[str]:
    yield "id"


class Unshowable:
    """An answer of a stranger's class."""

    def __repr__(self) -> str:
        raise SystemExit(1)


@pytest.mark.parametrize(
    "returned",
    [
        False,
        0,
        -1,
        10**5000,
        1.5,
        "",
        " \n",
        b"m7",
        {"ok": False, "error": "channel_not_found"},
        {"id": 1},
        [],
        ValueError("no"),
        Accepted,
        _unstarted(),
        Future(),
        Unshowable(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_answer_that_names_no_id_is_no_acceptance(returned: Any) -> None:
    Said.returns = returned

    outcome = send(sender())

    assert isinstance(outcome, Ambiguous)
    assert TOLD in outcome.why
    assert len(outcome.why) < 700


def test_an_answer_that_tells_nothing_is_shown_with_what_would() -> None:
    Said.returns = {"ok": False, "error": "channel_not_found"}

    outcome = send(sender())

    assert isinstance(outcome, Ambiguous)
    assert "channel_not_found" in outcome.why
    assert "return the provider's id" in outcome.why


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
        (asyncio.CancelledError(), Ambiguous),
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


def test_a_late_answer_is_an_answer() -> None:
    Said.returns, Said.waits_for = "m7", threading.Event()
    threading.Timer(0.3, Said.waits_for.set).start()

    assert send(sender(), Notebook(seconds=0.05)) == Accepted("m7")


def test_a_call_lasts_until_it_returns_in_the_thread_that_made_it() -> None:
    Said.waits_for = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(send, sender(), Notebook(seconds=0.05))
        time.sleep(0.3)  # well past its deadline

        assert not call.done()
        assert "ThreadPool" in Said.threads[0].name
        Said.waits_for.set()
        assert call.result(5) == Accepted()


def test_too_many_overdue_calls_hold_the_channel_until_they_return(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(function, "MAX_OVERDUE", 2)
    Said.waits_for = threading.Event()
    adapter = sender()
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(send, adapter, Notebook(seconds=0.2)) for _ in range(2)]
        _until(lambda: len(Said.received) == 2)
        in_time = adapter.ready()
        _until(lambda: adapter.ready() != "")

        held = send(adapter)

        assert in_time == ""
        assert "have not returned" in adapter.ready()
        assert held == NotSent(adapter.ready(), tried=False)
        assert len(Said.received) == 2
        assert sender("tests.channels.senders.told_async").ready() == ""
        Said.waits_for.set()
        assert [call.result(5) for call in calls] == [Accepted(), Accepted()]
    assert adapter.ready() == ""


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)  # a foreign thread's progress: there is nothing to wait on


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
        "tests.channels.leaving_sender.send",
        "tests.channels.senders.NOT_CALLABLE.nowhere",
        "",
    ],
)
def test_a_function_that_cannot_be_called_holds_the_channel(path: str) -> None:
    adapter = sender(path)

    outcome = send(adapter)

    assert adapter.ready()
    assert outcome == NotSent(adapter.ready(), tried=False)


@pytest.mark.parametrize("raised", ["SystemExit", "KeyboardInterrupt", "GeneratorExit"])
def test_a_module_that_ends_the_program_when_imported_holds_the_channel(
    raised: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAVES_WITH", raised)
    adapter = sender("tests.channels.leaving_sender.send")

    assert raised in adapter.ready()
    assert "set MY_TOKEN first" in adapter.ready()


def test_a_module_that_hangs_when_imported_holds_the_channel_and_nobody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounded_import, "IMPORT_S", 0.2)
    Said.waits_for = threading.Event()
    adapter, asked_at = sender("tests.channels.hanging_sender.send"), boottime()

    first = adapter.ready()
    outcome = send(adapter)
    asked_for_s = boottime() - asked_at

    assert "tests.channels.hanging_sender is still being imported" in first
    assert outcome == NotSent(adapter.ready(), tried=False)
    assert sender().ready() == ""
    assert asked_for_s < 10
    Said.waits_for.set()
    _until(lambda: adapter.ready() == "")
    assert send(adapter) == Accepted("id-1")


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


@pytest.mark.parametrize("raised", [SystemExit(1), KeyboardInterrupt(), GeneratorExit()], ids=repr)
def test_a_look_up_that_would_end_the_program_proves_nothing(raised: BaseException) -> None:
    Said.raises = raised

    (finding,) = look_up(look_up_path=TOLD, look_up_authoritative=True)

    assert finding.verdict == "inconclusive"
    assert type(raised).__name__ in finding.why


def test_a_look_up_whose_module_ends_the_program_proves_nothing() -> None:
    (finding,) = look_up(look_up_path="tests.channels.leaving_sender.look")

    assert finding.verdict == "inconclusive"
    assert "SystemExit" in finding.why


def test_a_look_up_may_be_a_coroutine() -> None:
    Said.returns = "m7"

    (finding,) = look_up(look_up_path="tests.channels.senders.told_async")

    assert (finding.verdict, finding.provider_message_id) == ("found", "m7")


def test_a_look_up_that_hangs_in_too_many_calls_is_not_called_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(function, "MAX_OVERDUE", 1)
    Said.waits_for = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(send, sender(), Notebook(seconds=0.01))
        _until(lambda: sender().ready() != "")

        (finding,) = look_up(look_up_path=TOLD, look_up_authoritative=True)

        assert (finding.verdict, len(Said.received)) == ("inconclusive", 1)
        assert "have not returned" in finding.why
        Said.waits_for.set()
        hanging.result(5)


def test_without_a_look_up_nothing_is_declared() -> None:
    assert look_up() == []
    assert not sender().declare().can_look_up


def test_a_path_is_required() -> None:
    assert FunctionAdapter.check_settings({}) == [
        "path: is missing, must be a dotted path such as my_app.sending.send"
    ]
    assert FunctionAdapter.check_settings({"path": "no dots"})
    assert FunctionAdapter.check_settings({"path": TOLD}) == []
