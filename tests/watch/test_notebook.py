"""The alarm that the database cannot keep: in a file, with leases and back-off as elsewhere."""

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import time_machine

from delivery.watch.alarms import CALM_S
from delivery.watch.checks import Finding, State, database_fails
from delivery.watch.notebook import FILE, Notebook
from delivery.watch.store import FIRST_BACKOFF_S, GATHER_S, LEASE_S

T0 = datetime(2026, 12, 1, 9, tzinfo=UTC)
WAYS = ["mail:oncall@acme.test"]


class Night:
    """Looks at a database that is down or up, at moments of one night."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def look(self, after_s: float, *, down: bool, book: Notebook | None = None) -> Notebook:
        """One look, by a watch of its own unless one is given."""
        book = book or Notebook(self.folder)
        now = T0 + timedelta(seconds=after_s)
        found = database_fails("refused", now) if down else Finding("database", "", State.OK, "")
        with time_machine.travel(now, tick=False):
            book.keep([found], now, WAYS)
        return book

    def tell(self, after_s: float, why_not: str = "", book: Notebook | None = None) -> bool:
        """Whether there was something to tell then; it was accepted, or why not."""
        book = book or Notebook(self.folder)
        with time_machine.travel(T0 + timedelta(seconds=after_s), tick=False):
            turn = book.take(WAYS[0])
            if turn is not None:
                book.settle(turn, why_not)
            return turn is not None


@pytest.fixture
def night(tmp_path: Path) -> Night:
    return Night(tmp_path)


def test_it_is_told_once_by_all_watches_of_this_machine(night: Night) -> None:
    night.look(0, down=True)
    assert night.tell(0)

    night.look(300, down=True)
    assert not night.tell(300)


def test_its_end_is_told_when_it_has_been_calm(night: Night) -> None:
    night.look(0, down=True)
    night.tell(0)
    night.look(60, down=False)
    assert not night.tell(60)

    night.look(60 + CALM_S, down=False)
    assert night.tell(60 + CALM_S)
    assert not night.tell(900)


def test_what_is_not_accepted_is_tried_again_later(night: Night) -> None:
    night.look(0, down=True)
    assert night.tell(0, "refused")
    assert not night.tell(FIRST_BACKOFF_S - 1)
    assert night.tell(FIRST_BACKOFF_S, "refused")
    assert not night.tell(2 * FIRST_BACKOFF_S)
    assert night.tell(3 * FIRST_BACKOFF_S)
    assert not night.tell(9_000)


def test_a_watch_that_is_killed_while_it_tells_leaves_it_to_the_next(night: Night) -> None:
    book = night.look(0, down=True)
    with time_machine.travel(T0, tick=False):
        assert book.take(WAYS[0]) is not None

    assert not night.tell(LEASE_S - 1)
    assert night.tell(LEASE_S)
    assert not night.tell(LEASE_S + GATHER_S)


def test_a_late_answer_counts_as_told_and_takes_no_lease_away(night: Night) -> None:
    book = night.look(0, down=True)
    with time_machine.travel(T0, tick=False):
        slow = book.take(WAYS[0])
    with time_machine.travel(T0 + timedelta(seconds=LEASE_S), tick=False):
        fresh = book.take(WAYS[0])
        assert slow is not None
        assert fresh is not None
        book.settle(slow, "")
        book.settle(fresh, "refused")

    assert not night.tell(9_000)


def test_a_file_that_was_cut_short_means_told_again_and_not_never(night: Night) -> None:
    night.look(0, down=True)
    night.tell(0)
    file = night.folder / FILE
    file.write_text(file.read_text()[:-20])

    night.look(60, down=True)

    assert night.tell(60)


def test_without_a_writable_folder_one_watch_still_tells_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    night = Night(tmp_path / "missing")
    book = night.look(0, down=True)
    with caplog.at_level(logging.WARNING):
        assert night.tell(0, book=book)
        night.look(300, down=True, book=book)
        assert not night.tell(300, book=book)

    assert sum("cannot keep" in record.message for record in caplog.records) <= 1
