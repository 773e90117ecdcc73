"""Work that never ends is left behind, and does not pile up."""

import threading

import pytest

from delivery.watch.bounded import MOST_LEFT_BEHIND, bounded


def test_what_ends_in_time_is_returned_or_raised() -> None:
    assert bounded(5, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        bounded(5, lambda: 1 // 0)


def test_what_does_not_end_is_left_behind_and_a_few_of_it_are_enough() -> None:
    end = threading.Event()
    try:
        for _ in range(MOST_LEFT_BEHIND):
            with pytest.raises(TimeoutError):
                bounded(0.01, end.wait, "stuck")
        with pytest.raises(TimeoutError, match="have not ended"):
            bounded(5, lambda: 7, "stuck")
        assert bounded(5, lambda: 7, "another") == 7
    finally:
        end.set()
