"""Identities, keys and recognizers: derived, for ever the same, and never shared."""

import re
import uuid
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgers.identity import Place, delivery_id, idempotency_key, recognizer

NAMESPACE = uuid.UUID("6f0c3a52-9a4b-4f0e-8d55-0d6a1c9f7b21")
SECRET = b"s" * 32
PLACE = Place("run-1", "write", 1, "digest", "alerts", "tg:1001", 1, 1)
IDENTITY = uuid.UUID("bf9fe4ba-da34-56f1-8d00-dc66f13e350b")
OTHERS: list[dict[str, Any]] = [
    {"run_id": "run-2"},
    {"step_id": "write2"},
    {"version": 2},
    {"message": "digest2"},
    {"channel": "alerts2"},
    {"destination": "tg:1002"},
    {"part": 2},
    {"generation": 2},
]
names = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=30)
places = st.builds(
    Place,
    names,
    names,
    st.integers(1, 3),
    names,
    names,
    names,
    st.integers(1, 3),
    st.integers(1, 2),
)


def test_the_identity_of_a_place_never_changes() -> None:
    assert delivery_id(NAMESPACE, PLACE) == IDENTITY


def test_letters_beyond_ascii_are_part_of_the_identity_as_they_are() -> None:
    place = replace(PLACE, run_id="Café", destination="room:Zürich 🎩")

    assert delivery_id(NAMESPACE, place) == uuid.UUID("321945bc-95e1-57f4-9680-b11055c74196")


def test_the_keys_and_the_recognizer_of_an_identity_never_change() -> None:
    assert idempotency_key(IDENTITY, "uuid", 255) == "045f230e-6882-536f-bb77-fd629d8f94c4"
    assert idempotency_key(IDENTITY, "token", 255) == (
        "ktmslakyb6nondw5d47ymju3oawfjehzbmmg3asdpdzmumcks3mva"
    )
    assert recognizer(IDENTITY, SECRET) == "dlveyynokogwxk5ihyjqyuh"


@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_another_place_has_another_identity_key_and_recognizer(other: dict[str, Any]) -> None:
    identity = delivery_id(NAMESPACE, replace(PLACE, **other))

    assert identity != IDENTITY
    assert idempotency_key(identity, "uuid", 36) != idempotency_key(IDENTITY, "uuid", 36)
    assert recognizer(identity, SECRET) != recognizer(IDENTITY, SECRET)


def test_every_part_of_a_place_is_among_those_that_make_another_identity() -> None:
    assert {name for other in OTHERS for name in other} == set(Place.__slots__)


def test_two_installations_share_no_identity() -> None:
    assert delivery_id(uuid.uuid4(), PLACE) != IDENTITY


def test_nobody_without_the_secret_can_mint_a_recognizer() -> None:
    assert recognizer(IDENTITY, b"t" * 32) != recognizer(IDENTITY, SECRET)


@given(st.uuids(version=5))
def test_keys_and_recognizers_have_their_shape(identity: uuid.UUID) -> None:
    assert uuid.UUID(idempotency_key(identity, "uuid", 36)).version == 5
    assert re.fullmatch(r"k[a-z2-7]{52}", idempotency_key(identity, "token", 64))
    assert re.fullmatch(r"[a-z][a-z0-9]{22}", recognizer(identity, SECRET))


@given(st.integers(20, 53))
def test_a_token_is_as_long_as_the_provider_takes(limit: int) -> None:
    key = idempotency_key(IDENTITY, "token", limit)

    assert len(key) == limit
    assert idempotency_key(IDENTITY, "token", 255).startswith(key)


@pytest.mark.parametrize(("form", "limit"), [("uuid", 35), ("token", 19), ("other", 255)])
def test_a_key_that_would_not_be_unique_or_known_is_refused(form: str, limit: int) -> None:
    with pytest.raises(ValueError, match=f"no idempotency key of form '{form}'"):
        idempotency_key(IDENTITY, form, limit)


@given(places, places)
def test_two_places_share_an_identity_only_if_they_are_the_same(one: Place, other: Place) -> None:
    same = delivery_id(NAMESPACE, one) == delivery_id(NAMESPACE, other)

    assert same == (one == other)


@given(names, names)
def test_no_text_can_pass_from_one_part_of_a_place_to_the_next(left: str, right: str) -> None:
    moved = replace(PLACE, run_id=left + right[:1], step_id=right[1:])

    assert delivery_id(NAMESPACE, replace(PLACE, run_id=left, step_id=right)) != delivery_id(
        NAMESPACE, moved
    )
