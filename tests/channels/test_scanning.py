"""A scan says "absent" only if every reason to doubt is excluded."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from delivery.channels.contract import Finding, Query
from delivery.channels.declaration import Surface
from delivery.channels.scanning import CLOCK_TOLERANCE, Page, Scan, Seen
from delivery.channels.texts import mentions

RECOGNIZER = "dlvq2mx9kabcdefghijkl"
ANOTHER = "dlvzzzx9kabcdefghijkl"
SINCE = datetime(2026, 11, 29, 12, tzinfo=UTC)
QUERY = Query("d", "k", RECOGNIZER, "room:ops", "", SINCE)
SURFACE = Surface("the room", complete=True, permission="read_history")
ME = "counterfoil"


def seen(minutes: float, text: str = "chatter", author: str = ME, hidden: str = "") -> Seen:
    """A message so many minutes after the first attempt."""
    return Seen(f"m{minutes:g}", author, SINCE + timedelta(minutes=minutes), text, hidden)


CONTROL = seen(-60, "control", "system")


def page(*messages: Seen, following: str | None = None, **how: object) -> Page:
    return replace(Page(messages, following, ME, may_read=True, whole_history=True), **how)  # type: ignore[arg-type]


def scan(*pages: Page | str, surface: Surface = SURFACE, max_pages: int = 10) -> Finding:
    left = list(pages)
    reading = Scan(QUERY, surface, lambda one: one.text == "control", max_pages)
    return reading.read(lambda cursor: left.pop(0), "the room")


def test_a_whole_list_without_our_message_is_absent() -> None:
    finding = scan(page(seen(2), CONTROL))

    assert finding.verdict == "absent"
    assert "a control message was seen, and the reader may: " in finding.why
    assert finding.covered_from == CONTROL.at
    assert finding.pages == 1


def test_a_list_read_back_to_before_the_first_attempt_is_absent() -> None:
    first = page(seen(2), following="2", whole_history=False)
    second = page(CONTROL, following="3", whole_history=False)

    finding = scan(first, second)

    assert finding.verdict == "absent"
    assert finding.pages == 2


def test_a_new_room_whose_first_message_is_later_than_the_attempt_is_covered() -> None:
    finding = scan(page(seen(1), replace(CONTROL, at=SINCE + timedelta(seconds=5))))

    assert finding.verdict == "absent"
    assert finding.covered_from == SINCE


DOUBTS: dict[str, tuple[list[Page | str], str]] = {
    "nothing at all is seen": ([page()], "control message"),
    "the control message is missing": ([page(seen(2), seen(-60))], "control message"),
    "the reader lacks the permission": ([page(seen(2), CONTROL, may_read=False)], "read_history"),
    "a page cannot be had": ([page(seen(2), following="2"), "answered 500"], "page 2"),
    "the first page cannot be had": (["answered 403"], "answered 403"),
    "older messages are not kept": (
        [page(seen(2), replace(CONTROL, at=SINCE), whole_history=False)],
        "not kept",
    ),
    "the list is not in order": ([page(seen(1), seen(2), CONTROL)], "not in order"),
    "another author shows our recognizer": (
        [page(seen(2, f"> ref {RECOGNIZER}", "someone"), CONTROL)],
        "by someone",
    ),
    "a later message of ours quotes it": (
        [page(seen(2, f"as I said:\n> done\n> ref {RECOGNIZER}\n\nref {ANOTHER}"), CONTROL)],
        "quotes it",
    ),
    "another message of ours shows it and is marked as that one": (
        [page(seen(2, f"ref {RECOGNIZER}", hidden=ANOTHER), CONTROL)],
        "quotes it",
    ),
    "a match is older than any attempt": (
        [page(seen(-30, hidden=RECOGNIZER), CONTROL)],
        "older than any attempt",
    ),
}


@pytest.mark.parametrize(("pages", "why"), DOUBTS.values(), ids=DOUBTS)
def test_a_doubt_makes_it_inconclusive(pages: list[Page | str], why: str) -> None:
    finding = scan(*pages)

    assert finding.verdict == "inconclusive"
    assert why in finding.why


def test_a_surface_that_does_not_show_everything_never_proves_absence() -> None:
    finding = scan(page(seen(2), CONTROL), surface=replace(SURFACE, complete=False))

    assert finding.verdict == "inconclusive"


def test_too_many_pages_are_inconclusive() -> None:
    endless = [page(seen(100 - number), following="more") for number in range(5)]

    finding = scan(*endless, max_pages=5)

    assert finding.verdict == "inconclusive"
    assert "gave up after 5 pages" in finding.why
    assert finding.pages == 5


@pytest.mark.parametrize(
    "match",
    [
        seen(2, f"hello\nref {RECOGNIZER}"),
        seen(2, f"<p>ref {RECOGNIZER}</p>"),
        seen(2, f"(ref {RECOGNIZER})."),
        seen(2, "trimmed", hidden=RECOGNIZER),
        seen(-1, hidden=RECOGNIZER),
    ],
    ids=["last line", "HTML", "brackets", "hidden only", "a clock somewhat behind"],
)
def test_our_message_is_found(match: Seen) -> None:
    finding = scan(page(seen(3), match, CONTROL))

    assert finding.verdict == "found"
    assert finding.provider_message_id == match.id


def test_two_of_ours_are_a_finding_of_their_own() -> None:
    finding = scan(page(seen(3, hidden=RECOGNIZER), seen(2, hidden=RECOGNIZER), CONTROL))

    assert finding.verdict == "found_many"
    assert finding.provider_message_id == "m2"
    assert "m3" in finding.response


def test_one_message_seen_on_two_pages_is_one() -> None:
    ours = seen(2, hidden=RECOGNIZER)

    finding = scan(page(seen(3), ours, following="2"), page(ours, CONTROL))

    assert finding.verdict == "found"


def test_what_was_found_stays_found_when_the_scan_breaks_off() -> None:
    finding = scan(page(seen(2, hidden=RECOGNIZER), following="2"), "answered 500")

    assert finding.verdict == "found"


def test_the_scan_goes_back_further_than_the_clocks_may_differ() -> None:
    barely = page(seen(-1), replace(CONTROL, at=SINCE - timedelta(minutes=2)), following="2")
    rest = page(seen(-CLOCK_TOLERANCE.total_seconds() / 60 - 1))

    assert scan(barely, rest).pages == 2


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        (RECOGNIZER, True),
        (f"x{RECOGNIZER}", False),
        (f"{RECOGNIZER}x", False),
        (RECOGNIZER.upper(), False),
        (RECOGNIZER[:-1], False),
        (f"“{RECOGNIZER}”", True),
    ],
)
def test_a_recognizer_counts_only_as_a_word_of_its_own(text: str, carried: bool) -> None:
    assert mentions(text, RECOGNIZER) == carried


def test_a_message_that_quotes_another_of_ours_is_found_by_its_own_last_line() -> None:
    quoting = seen(2, f"> ref {ANOTHER}\n\nref {RECOGNIZER} (sent again, approved by two)")

    assert scan(page(quoting, CONTROL)).verdict == "found"


def test_the_original_is_found_beside_what_quotes_it() -> None:
    quoting = seen(3, f"> ref {RECOGNIZER}\n\nref {ANOTHER}")

    finding = scan(page(quoting, seen(2, f"done\nref {RECOGNIZER}"), CONTROL))

    assert (finding.verdict, finding.provider_message_id) == ("found", "m2")
