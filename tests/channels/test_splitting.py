"""Splitting loses nothing, fits the limit, and cuts no character."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.channels.splitting import Unit, size, split_text

UNITS: list[Unit] = ["utf16", "code_points", "bytes"]
TEXTS = st.text(
    alphabet=st.one_of(
        st.sampled_from(" \n\t-ab\u200d\ufe0f\u0301🎩👩🏽é漢"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=400,
)


@given(text=TEXTS, limit=st.integers(4, 80), unit=st.sampled_from(UNITS))
def test_joined_parts_are_the_text_and_each_fits(text: str, limit: int, unit: Unit) -> None:
    parts = split_text(text, limit, unit)

    assert "".join(parts) == text
    assert all(size(part, unit) <= limit for part in parts)
    assert all(parts) or parts == [""]


@given(text=TEXTS, limit=st.integers(4, 80), unit=st.sampled_from(UNITS))
def test_every_part_is_whole_characters(text: str, limit: int, unit: Unit) -> None:
    for part in split_text(text, limit, unit):
        assert part.encode("utf-16-le").decode("utf-16-le") == part
        assert part.encode().decode() == part


@given(text=TEXTS, unit=st.sampled_from(UNITS))
def test_a_text_that_fits_is_one_part(text: str, unit: Unit) -> None:
    assert split_text(text, max(size(text, unit), 4), unit) == [text]


@given(text=TEXTS, limit=st.integers(4, 80))
def test_the_units_count_what_they_say(text: str, limit: int) -> None:
    assert size(text, "utf16") == len(text.encode("utf-16-le")) // 2
    assert size(text, "code_points") == len(text)
    assert size(text, "bytes") == len(text.encode())


def test_top_hats_count_two_units_each() -> None:
    text = "🎩" * 2048 + "a"

    parts = split_text(text, 4096, "utf16")

    assert [size(part, "utf16") for part in parts] == [4096, 1]
    assert "".join(parts) == text


def test_a_line_is_preferred_to_a_word_and_a_word_to_a_cut() -> None:
    assert split_text("one two\nthree four", 12, "code_points") == ["one two\n", "three four"]
    assert split_text("one two three", 9, "code_points") == ["one two ", "three"]
    assert split_text("a bcdefghijkl", 8, "code_points") == ["a bcdefg", "hijkl"]


def test_an_emoji_joined_of_several_is_kept_together_where_there_is_room() -> None:
    family = "👨\u200d👩\u200d👧"

    assert split_text("abcdefgh" + family, 10, "code_points") == ["abcdefgh", family]


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_a_limit_too_small_for_every_character_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match="use 4 or more"):
        split_text("🎩", limit, "bytes")
