"""Code that ends its process is not called again and again, until no worker is left."""

import multiprocessing
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_django import Settings

from delivery.channels import deadly
from delivery.channels.bounded_import import DeadlyModuleError, import_bounded
from delivery.channels.contract import Envelope
from delivery.channels.deadly import DEATHS, HOUR_S, running
from delivery.channels.function import FunctionAdapter
from delivery.outcomes import Accepted, NotSent, Outcome
from tests.channels.notebook import Notebook

CODE = "some.where.send"


@pytest.fixture(autouse=True)
def data(settings: Settings, tmp_path: Path) -> Path:
    settings.COUNTERFOIL_DATA = tmp_path
    forget()
    return tmp_path


def forget() -> None:
    """Be a process that has just begun."""
    deadly._remembered.clear()
    deadly._has_left.clear()


def ended(what: Callable[[], object]) -> int | None:
    """Do this in a process of its own; its exit code."""
    process = multiprocessing.get_context("fork").Process(target=what)
    process.start()
    process.join(30)
    forget()
    return process.exitcode


def end_inside(code: str = CODE) -> None:
    with running(code):
        os._exit(9)


def sender(name: str = "send_or_die") -> FunctionAdapter:
    return FunctionAdapter({"path": f"tests.channels.deadly_sender.{name}"}, lambda: "")


def send(adapter: FunctionAdapter, text: str) -> Outcome:
    rendered = adapter.render(Envelope(text, "ops", 1, 1, "dlvq2mx9kabcdefghijkl"))
    return adapter.submit(rendered, "the-key", Notebook())


def test_three_processes_that_end_in_it_are_enough() -> None:
    verdicts = []
    for _ in range(DEATHS):
        verdicts.append(deadly.deadly(CODE))
        ended(end_inside)

    assert verdicts == [""] * DEATHS
    assert deadly.deadly(CODE).startswith(f"{CODE} was running when 3 processes on this host ended")


def test_other_code_may_still_be_called() -> None:
    for _ in range(DEATHS):
        ended(end_inside)

    assert deadly.deadly("some.where.else") == ""


@pytest.mark.parametrize("raised", [None, ValueError, SystemExit])
def test_a_call_that_returns_or_raises_clears_it(raised: type[BaseException] | None) -> None:
    for _ in range(DEATHS - 1):
        ended(end_inside)

    deadly.deadly(CODE)
    with pytest.raises(raised) if raised else running("nothing"), running(CODE):
        if raised:
            raise raised
    ended(end_inside)

    assert deadly.deadly(CODE) == ""


def test_it_is_tried_again_after_an_hour(data: Path) -> None:
    for _ in range(DEATHS):
        ended(end_inside)
    for mark in data.rglob("running/*/*"):
        os.utime(mark, (time.time() - HOUR_S - 1,) * 2)

    assert deadly.deadly(CODE) == ""
    assert not list(data.rglob("running/*/*"))


def test_processes_that_are_still_in_it_count_for_nothing() -> None:
    with running(CODE), running(CODE), running(CODE):
        assert deadly.deadly(CODE) == ""


def test_without_a_place_for_files_it_is_called_as_ever(data: Path) -> None:
    (data / "running").write_text("not a folder")

    with running(CODE):
        assert deadly.deadly(CODE) == ""


def test_a_function_that_ends_its_process_is_held_and_named() -> None:
    adapter = sender("send")
    codes = [ended(lambda: send(adapter, "hello")) for _ in range(DEATHS)]

    said = send(adapter, "hello")

    assert codes == [9] * DEATHS
    assert isinstance(said, NotSent)
    assert not said.tried
    assert "tests.channels.deadly_sender.send was running when 3 processes" in adapter.ready()


def test_one_bad_message_among_good_ones_does_not_hold_the_function() -> None:
    adapter = sender()
    for _ in range(DEATHS):
        assert ended(lambda: send(adapter, "die")) == 9
        assert isinstance(send(adapter, "hello"), Accepted)

    assert adapter.ready() == ""


def test_a_module_that_ends_its_process_is_imported_three_times_and_not_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "tests.channels.deadly_module"
    monkeypatch.setenv("DIES_WHEN_IMPORTED", "1")
    codes = [ended(lambda: import_bounded(name)) for _ in range(DEATHS)]

    with pytest.raises(DeadlyModuleError, match="was running when 3 processes"):
        import_bounded(name)

    assert codes == [9] * DEATHS
