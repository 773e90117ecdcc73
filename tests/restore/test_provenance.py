"""The judgement about a database, as a table: what the mark says against what it says itself."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from delivery import whereabouts
from delivery.mark import Mark
from delivery.provenance import Database, Finding, judge
from delivery.whereabouts import Whereabouts
from ledgers.instance import Instance

NOW = datetime(2026, 12, 1, 8, tzinfo=UTC)
ONE = Instance("7713", 1, 5, "counterfoil")
HERE = Whereabouts("web-1 (a1)", 7)
MARK = Mark(1, ONE, HERE, {"a": 5, "b": 3})
SAME = Database(1, ONE, ONE, {"a": 5, "b": 9})


def found(mark: Mark | None = MARK, here: Whereabouts = HERE, **fields: Any) -> Finding:
    return judge(mark, here, replace(SAME, **fields)).finding


@pytest.mark.parametrize(
    "other",
    [
        replace(ONE, system="7714"), replace(ONE, timeline=2), replace(ONE, oid=6),
        replace(ONE, name="copy"),
    ],
)  # fmt: skip
def test_whatever_differs_of_what_it_remembers_makes_it_another_instance(other: Instance) -> None:
    verdict = judge(MARK, HERE, replace(SAME, instance=other))

    assert verdict.finding == Finding.RESTORED
    assert str(ONE) in verdict.why
    assert str(other) in verdict.why


@pytest.mark.parametrize(
    ("counts", "finding"),
    [
        ({"a": 5, "b": 3}, Finding.KNOWN),
        ({"a": 6, "b": 4}, Finding.KNOWN),
        ({"a": 4, "b": 3}, Finding.RESTORED),
        ({"a": 5}, Finding.RESTORED),
        ({}, Finding.RESTORED),
    ],
)
def test_it_is_older_if_any_count_is_not_reached(counts: dict[str, int], finding: Finding) -> None:
    assert found(counts=counts) == finding


def test_an_earlier_epoch_is_older_whatever_the_counts() -> None:
    assert found(replace(MARK, epoch=2)) == Finding.RESTORED


def test_counts_of_an_earlier_epoch_prove_nothing_unless_they_are_reached() -> None:
    """A restore was noticed by others since: what is missing is what that one lost."""
    assert found(epoch=2, counts={}) == Finding.UNSURE
    assert found(epoch=2) == Finding.KNOWN


def test_without_a_mark_only_what_is_empty_begins() -> None:
    assert found(None, remembered=None, empty=True) == Finding.NEW
    assert found(None) == Finding.UNSURE
    assert found(None, remembered=None) == Finding.UNSURE


def test_an_empty_ledger_that_was_not_empty_is_older() -> None:
    assert found(empty=True, counts={}) == Finding.RESTORED


def test_a_mark_that_waits_for_a_persons_word_counts_once_it_was_given() -> None:
    waiting = replace(MARK, unsure_at=NOW)

    assert found(waiting) == Finding.UNSURE
    assert found(waiting, confirmed_at=NOW - timedelta(seconds=1)) == Finding.UNSURE
    assert found(waiting, confirmed_at=NOW + timedelta(seconds=1)) == Finding.KNOWN
    assert found(waiting, confirmed_at=NOW + timedelta(seconds=1), counts={}) == Finding.RESTORED


@pytest.mark.parametrize("elsewhere", [replace(HERE, host="web-2 (a1)"), replace(HERE, folder=8)])
def test_a_mark_found_elsewhere_than_where_it_was_written_proves_nothing(
    elsewhere: Whereabouts,
) -> None:
    assert found(here=elsewhere) == Finding.UNSURE
    assert found(here=elsewhere, counts={}) == Finding.RESTORED


def test_a_mark_is_read_as_it_was_written() -> None:
    waiting = replace(MARK, unsure_at=NOW)

    assert [Mark.read(one.written()) for one in (MARK, waiting)] == [MARK, waiting]


def test_a_stated_host_is_all_that_counts(settings: Any, tmp_path: Path) -> None:
    settings.COUNTERFOIL_HOST = "worker-3"

    assert whereabouts.here(tmp_path).host == "worker-3"


def test_a_host_is_its_name_and_its_machine_id(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "machine-id").write_text("a1b2\n")
    monkeypatch.setattr(whereabouts, "MACHINE_IDS", (tmp_path / "none", tmp_path / "machine-id"))
    monkeypatch.setattr(whereabouts, "gethostname", lambda: "web-1")

    assert whereabouts.here(tmp_path).host == "web-1 (a1b2)"


@pytest.mark.parametrize(
    ("address", "host"), [(0x00163E000001, "00163e000001"), (0x0242AC110002, "web-1")]
)
def test_without_a_machine_id_it_is_the_address_of_its_hardware_or_else_its_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: int, host: str
) -> None:
    """The second one is of a container: it changes with each start."""
    monkeypatch.setattr(whereabouts, "MACHINE_IDS", ())
    monkeypatch.setattr(whereabouts, "gethostname", lambda: "web-1")
    monkeypatch.setattr("uuid.getnode", lambda: address)

    assert whereabouts.here(tmp_path).host == host
