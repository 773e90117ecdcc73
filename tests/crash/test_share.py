"""What the surveys of `make crash` take, and what `make crash EVERY=1` adds."""

from tests.crash.share import parts, sample
from tests.crash.surveyed import survey_table

PASSED = ["SELECT, before", "SELECT, after", "commit, before", "commit, after"] * 10


def test_all_parts_together_take_each_point_once() -> None:
    taken = [place for one in parts(3) for place, name in enumerate(PASSED) if one.has(place, name)]

    assert sorted(taken) == list(range(len(PASSED)))


def test_a_sample_is_spread_and_has_every_commit() -> None:
    share = sample(7, 9)

    taken = [place for place, name in enumerate(PASSED) if share.has(place, name)]

    assert {place for place, name in enumerate(PASSED) if name.startswith("commit")} < set(taken)
    assert set(range(2, len(PASSED), 7)) <= set(taken)
    assert len(taken) < len(PASSED)


def test_the_table_says_what_was_left_out_and_how_to_take_it() -> None:
    counts = dict.fromkeys(("attempts", "effects", "delivered", "unknown"), 0)
    one = {"stretch": "undo", "mode": "kill", "provider": "no key", "points": 4, "left_out": 30}

    table = survey_table([{**one, **counts, "twice": [], "broken": []}] * 2)

    assert "\n60 points left out; `make crash EVERY=1` acts at every one of them" in table
