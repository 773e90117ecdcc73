"""The tier of a provider follows from what it declares, and from nothing else."""

import pytest

from delivery.channels.declaration import (
    SHORT_WINDOW_S,
    TIERS,
    Declaration,
    KeyForm,
    Surface,
    Window,
)

KEY = KeyForm("header Idempotency-Key")
SHORT = Window(SHORT_WINDOW_S - 1, "documentation", "documented")
LONG = Window(SHORT_WINDOW_S, "documentation", "documented")
ROOM = Surface("the room", complete=False)


@pytest.mark.parametrize(
    ("declared", "tier"),
    [
        (Declaration("x", look_up_by_key=True), "A"),
        (Declaration("x", key=KEY, window=LONG, look_up_by_key=True, surface=ROOM), "A"),
        (Declaration("x", key=KEY, window=LONG), "B"),
        (Declaration("x", key=KEY, window=LONG, surface=ROOM), "B"),
        (Declaration("x", key=KEY, window=SHORT), "B"),
        (Declaration("x", key=KEY, window=SHORT, surface=ROOM), "C"),
        (Declaration("x", surface=ROOM), "D"),
        (Declaration("x", key=KEY, surface=ROOM), "D"),
        (Declaration("x", window=LONG, surface=ROOM), "D"),
        (Declaration("x"), "E"),
        (Declaration("x", key=KEY), "E"),
        (Declaration("x", look_up_by_id=True), "E"),
    ],
)
def test_the_tier_follows_from_the_declaration(declared: Declaration, tier: str) -> None:
    assert declared.tier == tier
    assert declared.tier in TIERS
