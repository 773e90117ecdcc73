"""What a vendor's list proves: found, found twice, absent, or nothing."""

import pytest

from tests.contract import vendors
from tests.contract.lab import SEARCHABLE, TOKEN, Lab, complete, each
from tests.contract.vendor import Answer


@each(*SEARCHABLE)
def test_after_a_lost_answer_the_message_is_found(lab: Lab) -> None:
    lab.vendor.lose_answers = True
    lab.send()

    finding = lab.look()

    assert finding.verdict == "found"
    assert finding.provider_message_id
    assert lab.vendor.effects == 1


@each(*SEARCHABLE)
def test_the_message_is_found_beyond_the_first_page(lab: Lab) -> None:
    lab.send()
    for number in range(230):
        lab.vendor.foreign(lab.way.to, f"chatter {number}", "")

    finding = lab.look()

    assert finding.verdict == "found"
    assert finding.pages >= 2


@each(*SEARCHABLE)
def test_two_copies_are_a_finding_of_their_own(lab: Lab) -> None:
    lab.send()
    lab.send()

    assert lab.look().verdict == "found_many"


@each(*SEARCHABLE)
def test_our_token_under_a_foreign_author_is_no_match(lab: Lab) -> None:
    lab.vendor.foreign(lab.way.to, "chatter", "")
    lab.vendor.foreign(lab.way.to, f"look: ref {TOKEN}", TOKEN)

    finding = lab.look(**complete(lab))

    assert finding.verdict == "inconclusive"
    assert "carries the recognizer but is by" in finding.why


@each(*SEARCHABLE)
def test_a_later_message_of_ours_that_quotes_it_is_no_match(lab: Lab) -> None:
    shown = f"> done\n> ref {TOKEN}\n<!-- counterfoil {TOKEN} -->\n\nIt was sent."
    lab.send(shown, recognizer="dlvzzzx9kabcdefghijkl23")

    finding = lab.look(**complete(lab))

    assert finding.verdict == "inconclusive"
    assert "quotes it" in finding.why


@each("twilio")
@pytest.mark.parametrize("leads", ["@evil.test/next", ".evil.test/next", "http://evil.test/"])
def test_a_next_page_at_another_host_is_not_asked_for(
    lab: Lab, leads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Answer(200, {"messages": [], "next_page_uri": leads})
    monkeypatch.setattr(lab.vendor, "read", lambda ask: said)

    finding = lab.look()

    assert finding.verdict == "inconclusive"
    assert "is no path" in finding.why


@each(*SEARCHABLE)
def test_without_the_permission_nothing_is_concluded(lab: Lab) -> None:
    lab.vendor.foreign(lab.way.to, "chatter", "")
    lab.vendor.may_read = False

    assert lab.look(**complete(lab)).verdict == "inconclusive"


@each("slack", "discord", "github", "discourse")
def test_what_is_not_there_is_absent_only_where_that_is_declared(lab: Lab) -> None:
    lab.vendor.foreign(lab.way.to, "chatter", "")

    assert lab.look().verdict == "inconclusive"
    assert lab.look(surface_complete=True).verdict == "absent"


@each(*SEARCHABLE)
def test_an_empty_list_proves_nothing(lab: Lab) -> None:
    assert lab.look(**complete(lab)).verdict == "inconclusive"


@each(*SEARCHABLE)
def test_a_scan_gives_up_at_its_cap(lab: Lab) -> None:
    lab.send()
    for number in range(230):
        lab.vendor.foreign(lab.way.to, f"chatter {number}", "")

    newest_last = isinstance(lab.vendor, vendors.Github)
    finding = lab.look(max_pages=1, **complete(lab))

    assert finding.verdict == ("found" if newest_last else "inconclusive")
