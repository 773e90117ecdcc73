"""The first channel's file: one line per key, whatever became of the writing of another."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from delivery import samples
from delivery.errors import NotSentError

real_write = os.write


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings, "COUNTERFOIL_DATA", tmp_path)
    return samples.notes_file()


def write(key: str, payload: Any = "hi") -> str:
    return samples.write(destination="ops", payload=payload, key=key, recognizer="r", deadline=1.0)


def keys(file: Path) -> list[str]:
    """The keys of the lines that are notes."""
    found = []
    for line in file.read_text().splitlines():
        try:
            found.append(json.loads(line)["key"])
        except ValueError:
            continue
    return found


def test_a_key_is_written_once_and_answered_the_same_again(file: Path) -> None:
    answers = [write("a"), write("b"), write("a")]

    assert answers == ["1", "2", "1"]
    assert keys(file) == ["a", "b"]
    assert (samples.look_up(key="b"), samples.look_up(key="c")) == ("2", False)


@pytest.mark.parametrize("left", [1, 20, -2])
def test_a_line_that_was_cut_short_spoils_no_other_one(file: Path, left: int) -> None:
    write("a")
    before = file.read_bytes()
    write("torn")
    file.write_bytes(before + file.read_bytes()[len(before) :][:left])

    found_before = samples.look_up(key="torn")
    answers = [write("b"), write("torn"), write("a")]

    assert found_before is False
    assert answers == ["3", "4", "1"]
    assert keys(file) == ["a", "b", "torn"]
    assert samples.look_up(key="torn") == "4"


def test_a_line_that_lacks_only_its_end_was_written(file: Path) -> None:
    write("a")
    file.write_bytes(file.read_bytes().removesuffix(b"\n"))

    assert samples.look_up(key="a") == "1"
    assert [write("b"), write("a")] == ["2", "1"]
    assert keys(file) == ["a", "b"]


@pytest.mark.parametrize(
    "line", [b"not a note\n", b"[]\n", b"5\n", b'{"to": 1}\n', b"\xff\xfe\n", b"\n"]
)
def test_a_line_that_is_no_note_is_only_counted(file: Path, line: bytes) -> None:
    file.write_bytes(line)

    assert samples.look_up(key="a") is False
    assert write("a") == "2"


def test_a_note_is_handed_to_the_system_in_one_write(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = _watched(monkeypatch, os.write)

    write("a", payload="x" * 100_000)

    assert written == [file.stat().st_size]


def test_what_a_full_disk_took_is_taken_back_and_was_not_sent(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a")
    before = file.read_bytes()

    with monkeypatch.context() as full:
        _watched(full, lambda descriptor, data: real_write(descriptor, data[:30]))
        with pytest.raises(NotSentError, match="30 of"):
            write("b")

    assert file.read_bytes() == before
    assert write("b") == "2"


def test_a_disk_that_takes_nothing_was_not_sent_to(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    _watched(monkeypatch, full)

    with pytest.raises(NotSentError, match="No space left"):
        write("a")
    assert keys(file) == []


def _watched(monkeypatch: pytest.MonkeyPatch, does: Callable[[int, bytes], int]) -> list[int]:
    """How many bytes each write to the notes took, which does this instead."""
    counts: list[int] = []

    def watched(descriptor: int, data: bytes) -> int:
        counts.append(does(descriptor, data))
        return counts[-1]

    monkeypatch.setattr(os, "write", watched)
    return counts
