"""One spelling for every value, and a named refusal for what the chain could not carry."""

import json
import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgers.canonical import (
    MAX_CONTENT,
    MAX_DEPTH,
    MAX_INTEGER,
    MAX_NAME,
    canonical_json,
    check_name,
    sha256,
    storable,
)
from ledgers.errors import InvalidValueError

texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)
numbers = st.integers(-MAX_INTEGER, MAX_INTEGER) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


def respelled(value: Any) -> Any:
    """An equal value: keys in another order, tuples for lists."""
    if isinstance(value, dict):
        items = [(key, respelled(item)) for key, item in value.items()]
        return dict(random.sample(items, len(items)))
    return tuple(map(respelled, value)) if isinstance(value, list) else value


@given(values)
def test_equal_values_have_one_spelling(value: Any) -> None:
    assert canonical_json(value, "v") == canonical_json(respelled(value), "v")


@given(values)
def test_a_value_comes_back_as_it_was_and_is_spelled_so_again(value: Any) -> None:
    text = canonical_json(value, "v")

    assert json.loads(text) == value
    assert canonical_json(json.loads(text), "v") == text


@given(values, values)
def test_two_spellings_are_equal_only_if_the_values_are(one: Any, other: Any) -> None:
    if canonical_json(one, "v") == canonical_json(other, "v"):
        assert one == other


def test_the_spelling_is_sorted_bare_and_in_utf8() -> None:
    assert canonical_json({"b": [1, None], "a": "é🎩"}, "v") == '{"a":"é🎩","b":[1,null]}'


NESTED: Any = 1
for _ in range(MAX_DEPTH + 1):
    NESTED = [NESTED]
ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    ("value", "field", "words"),
    [
        ({"a": [0, "x\x00y"]}, "content.a[1]", "NUL"),
        ({"a": "\ud83c"}, "content.a", "lone surrogate at character 0"),
        ({"a\x00": 1}, "a key of content", "NUL"),
        ({"\udfff": 1}, "a key of content", "lone surrogate"),
        ([math.nan], "content[0]", "is nan"),
        ([math.inf], "content[0]", "is inf"),
        ({"n": -math.inf}, "content.n", "is -inf"),
        (b"bytes", "content", "of type bytes"),
        ({"a": {1, 2}}, "content.a", "of type set"),
        ({"a": ...}, "content.a", "of type ellipsis"),
        ({1: "a"}, "content", "has the key 1"),
        ({None: "a"}, "content", "has the key None"),
        ({"a": 2**63}, "content.a", "too large a whole number"),
        ({"a": -(2**63)}, "content.a", "too large a whole number"),
        (NESTED, "content" + "[0]" * (MAX_DEPTH + 1), "nested too deeply"),
        (ENDLESS, "content" + "[0]" * (MAX_DEPTH + 1), "nested too deeply"),
        ("x" * (MAX_CONTENT - 1), "content", f"is {MAX_CONTENT + 1} bytes long"),
        ("é" * (MAX_CONTENT // 2), "content", f"is {MAX_CONTENT + 2} bytes long"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_value_that_cannot_be_kept_is_refused_by_the_name_of_its_place(
    value: Any, field: str, words: str
) -> None:
    with pytest.raises(InvalidValueError) as refusal:
        canonical_json(value, "content")

    assert refusal.value.field == field
    assert words in str(refusal.value)
    assert refusal.value.right in str(refusal.value)


def test_the_longest_the_deepest_and_the_largest_value_are_kept() -> None:
    deepest: Any = 1
    for _ in range(MAX_DEPTH):
        deepest = [deepest]

    assert len(canonical_json("x" * (MAX_CONTENT - 2), "v")) == MAX_CONTENT
    assert canonical_json(deepest, "v")
    assert canonical_json([MAX_INTEGER, -MAX_INTEGER], "v")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (None, "is None"),
        (7, "is 7"),
        ("", "is empty"),
        (" a", "white space at an end"),
        ("a\n", "white space at an end"),
        ("a\tb", "unprintable"),
        ("a\u200bb", "unprintable"),
        ("a\x00b", "NUL"),
        ("a\ud800b", "lone surrogate"),
        ("Cafe\u0301", "not in composed form"),
        ("x" * (MAX_NAME + 1), f"is {MAX_NAME + 1} characters long"),
    ],
)
def test_a_name_that_cannot_be_kept_is_refused(name: object, words: str) -> None:
    with pytest.raises(InvalidValueError, match=r"^run_id: ") as refusal:
        check_name(name, "run_id")

    assert words in str(refusal.value)


def test_a_printable_name_is_kept_as_it_is() -> None:
    for name in ("a", "Café 2026-12-01/🎩", "x" * MAX_NAME):
        assert check_name(name, "run_id") == name


def test_hashing_a_text_is_hashing_its_bytes_in_utf8() -> None:
    assert sha256("é") == sha256("é".encode())
    assert sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@given(st.text(st.characters(exclude_categories=())))
def test_whatever_a_stranger_says_can_be_stored(text: str) -> None:
    kept = storable(text, 10)

    assert len(kept) <= 10
    assert "\x00" not in kept
    assert kept.encode().decode() == kept
