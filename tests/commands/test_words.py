"""Tables and durations for a terminal."""

from datetime import UTC, datetime

import pytest

from ledgers.management.words import moment, pairs, plain, seconds, section, table


def test_columns_are_aligned_and_empty_ones_left_out() -> None:
    assert (
        table(("a", "b", "c"), [("x", "", 1), ("long", None, 22)]) == "a     c\nx     1\nlong  22"
    )


def test_wide_characters_take_two_columns() -> None:
    assert table(("name", "n"), [("東京", 1), ("abcd", 2)]) == "name  n\n東京  1\nabcd  2"


def test_a_narrow_terminal_gets_a_block_per_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")

    shown = table(("destination", "status"), [("room:operations", "unknown"), ("b", "failed")])

    assert shown == (
        "destination  room:operations\nstatus       unknown\n\ndestination  b\nstatus       failed"
    )


def test_a_table_without_rows_and_a_section_without_body_are_nothing() -> None:
    assert table(("a",), []) == section("Title", "") == ""


def test_facts_without_a_value_are_left_out() -> None:
    assert pairs([("a", ""), ("bc", 0), ("d", None)]) == "bc  0"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("a\nb", "a\\nb"),
        ("a\u202eb", "a\\u202eb"),
        ("\udcff", "\\udcff"),
        ("größe", "größe"),
        (None, ""),
    ],
)
def test_what_a_terminal_would_obey_is_shown_instead(text: object, shown: str) -> None:
    assert plain(text) == shown


@pytest.mark.parametrize(
    ("duration", "said"),
    [
        (-1, "0 s"),
        (0.4, "0 s"),
        (59.6, "1 min"),
        (61, "1 min 1 s"),
        (3600 * 26 + 59, "1 d 2 h"),
    ],
)
def test_durations_are_said_in_their_two_largest_units(duration: float, said: str) -> None:
    assert seconds(duration) == said


def test_moments_are_to_the_second_and_in_utc() -> None:
    assert moment(datetime(2026, 12, 1, 8, 0, 5, 123, tzinfo=UTC)) == "2026-12-01 08:00:05 UTC"
    assert moment(None) == ""
