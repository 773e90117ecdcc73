"""What the recipient shows, and how it can be made to hide it."""

import pytest

from delivery.simulator.client import Simulator
from delivery.simulator.rewriting import REWRITES, rewrite
from tests.simulator.wires import get, post


def test_messages_are_listed_newest_first_with_the_control_message_last(
    recipient: Simulator,
) -> None:
    for number in range(3):
        post(recipient, key=f"k{number}", text=f"text {number}")

    shown = recipient.messages("ops")

    assert [one["text"] for one in shown] == ["text 2", "text 1", "text 0", "control"]
    assert shown[0]["author"] == "counterfoil"
    assert shown[-1]["id"] == "control-ops"


def test_pages_join_to_the_whole_list(recipient: Simulator) -> None:
    recipient.behave(page_size=3)
    for number in range(7):
        recipient.inject("ops", f"text {number}")

    status, page = get(recipient, "/v1/messages?to=ops&limit=1000")

    assert (status, len(page["messages"]), page["next"]) == (200, 3, "3")
    assert len(recipient.messages("ops")) == 8


@pytest.mark.parametrize(("told", "status"), [("ok", 200), ("absent", 404), ("error", 500)])
def test_look_ups_answer_truly_or_as_told(recipient: Simulator, told: str, status: int) -> None:
    post(recipient)
    recipient.behave(look_up=told)

    assert get(recipient, "/v1/look_up?key=k&to=ops")[0] == status
    assert get(recipient, "/v1/messages/m00000001")[0] == status
    assert recipient.effects("ops") == 1


def test_what_never_arrived_is_not_found(recipient: Simulator) -> None:
    assert get(recipient, "/v1/look_up?key=k") == (404, {"found": False})
    assert get(recipient, "/v1/messages/m9") == (404, {"found": False})
    assert get(recipient, "/v1/nothing")[0] == 404


def test_the_same_key_elsewhere_is_not_found_here(recipient: Simulator) -> None:
    post(recipient, "dev")

    assert get(recipient, "/v1/look_up?key=k&to=ops")[0] == 404
    assert get(recipient, "/v1/look_up?key=k")[0] == 200


def test_a_message_may_show_later_and_leave_earlier(recipient: Simulator) -> None:
    recipient.behave(visible_after_s=10, history_s=100)
    post(recipient)
    shown = []

    for clock in (5, 50, 150):
        recipient.set_clock(clock)
        seen = [one["id"] for one in recipient.messages("ops")]
        shown.append(("m00000001" in seen, get(recipient, "/v1/look_up?key=k")[0]))

    assert shown == [(False, 404), (True, 200), (False, 404)]


def test_a_reader_without_permission_is_told_who_it_is_but_not_that_it_may(
    recipient: Simulator,
) -> None:
    recipient.behave(may_read=False, listing="empty")
    post(recipient)

    _, page = get(recipient, "/v1/messages?to=ops")

    assert page["messages"] == []
    assert page["reader"] == {"author": "counterfoil", "may": []}
    assert get(recipient, "/v1/whoami")[1] == {"author": "counterfoil", "may": []}


def test_a_list_can_fail(recipient: Simulator) -> None:
    recipient.behave(listing="error")

    assert get(recipient, "/v1/messages?to=ops")[0] == 500


def test_copies_by_others_are_shown_and_count_as_no_effect(recipient: Simulator) -> None:
    recipient.behave(foreign_copies=2)
    post(recipient)

    authors = [one["author"] for one in recipient.messages("ops")]

    assert sorted(authors) == ["counterfoil", "someone-else", "someone-else", "system"]
    assert recipient.effects("ops") == 1


def test_an_injected_message_is_as_told(recipient: Simulator) -> None:
    named = recipient.inject("ops", "hm", author="x", recognizer="dlv", at=1_700_000_000)

    (shown,) = [one for one in recipient.messages("ops") if one["id"] == named]

    assert (shown["author"], shown["recognizer"]) == ("x", "dlv")
    assert shown["at"] == "2023-11-14T22:13:20+00:00"
    assert recipient.effects("ops") == 0


# --- Rewriting -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REWRITES)
def test_a_rewrite_changes_what_is_shown_and_not_what_arrived(
    recipient: Simulator, name: str
) -> None:
    text = '**"It\'s" -- done...** ' + "word " * 60
    recipient.behave(rewrite=[name])

    post(recipient, text=text)

    assert recipient.messages("ops")[0]["text"] != text
    assert recipient.effects("ops") == 1


def test_rewrites_do_what_they_are_named_after() -> None:
    assert rewrite("x" * 500, ["trim"]) == "x" * 200
    curled = "\u201ca\u201d it\u2019s \u2014 \u2026"
    assert rewrite('"a" it\'s -- ...', ["smart_quotes"]) == curled
    assert rewrite("**a** <b>\n\nc", ["markdown_to_html"]) == (
        "<p><strong>a</strong> &lt;b&gt;</p><p>c</p>"
    )
    assert max(map(len, rewrite("word " * 20, ["wrap"]).split("\n"))) <= 40
    assert rewrite("a", ["footer"]).startswith("a\n-- \n")
    assert rewrite("a", []) == "a"


def test_the_hidden_place_can_be_dropped(recipient: Simulator) -> None:
    recipient.behave(hidden=False)
    post(recipient)

    assert recipient.messages("ops")[0]["recognizer"] == ""
