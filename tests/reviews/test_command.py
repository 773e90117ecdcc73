"""`manage.py decide`: the same gates at a shell, and who somebody is there."""

import pytest

from delivery.simulator.client import Simulator
from ledgers.models import Delivery, Event
from reviews.people import Person
from tests.commands.shell import typed
from tests.factories import delivery, sweep
from tests.reviews.scenes import BLIND, ROOM, channel, let_undo_end, unknown

pytestmark = pytest.mark.django_db(transaction=True)
PASSWORD = "a long password\n"


@pytest.fixture
def row(recipient: Simulator) -> Delivery:
    """Unknown, and nothing can be searched."""
    channel(recipient, settings=BLIND)
    (one,) = unknown(recipient)
    return one


def test_what_one_person_may_decide_is_carried_out_at_once(row: Delivery) -> None:
    said = typed("decide", "request", "leave", str(row.delivery_id)[:8], "--reason", "by phone")

    assert said.code == 0
    assert "leave undelivered" in said.out
    assert delivery(ROOM).decision == "leave"
    event = Event.objects.get(kind="decide")
    assert event.actor.startswith("shell:")
    assert event.detail["reason"] == "by phone"


def test_two_people_decide_at_shells_with_their_own_accounts(
    row: Delivery, recipient: Simulator, alice: Person, bob: Person
) -> None:
    asked = typed(
        "decide", "request", "send_otherwise", row.recognizer, "--reason", "needed", "--note",
        "not in the room", "--typed", ROOM, "--as", "alice", "--json", stdin=PASSWORD,
    )  # fmt: skip
    number = str(asked.json["decision"])
    listed = typed("decide", "list", "--json")
    same = typed("decide", "approve", number, "--as", "alice", stdin=PASSWORD)

    done = typed("decide", "approve", number, "--as", "bob", "--json", stdin=PASSWORD)
    let_undo_end(Delivery.objects.get(generation=2))
    sweep()

    assert (asked.code, asked.json["stage"]) == (1, "requested")
    assert (listed.code, len(listed.json["waiting"])) == (1, 1)
    assert (same.code, "permission approve" in same.err) == (1, True)
    assert (done.code, done.json["approved_by"]) == (0, "bob")
    assert done.json["deliveries"][0]["made"] == str(Delivery.objects.get(generation=2).delivery_id)
    assert recipient.effects(ROOM) == 2


def test_a_shell_without_an_account_is_no_second_person_and_no_first(
    row: Delivery, bob: Person
) -> None:
    words = ("--reason", "r", "--note", "n", "--typed", ROOM)
    nobody = typed("decide", "request", "send_otherwise", row.recognizer, *words)
    asked = typed(
        "decide", "request", "send_otherwise", row.recognizer, *words, "--as", "bob", "--json",
        stdin=PASSWORD,
    )  # fmt: skip

    approved = typed("decide", "approve", str(asked.json["decision"]))

    assert (nobody.code, "has an account" in nobody.err) == (1, True)
    assert (approved.code, "permission approve" in approved.err) == (1, True)


def test_a_wrong_password_is_nobody(row: Delivery, bob: Person) -> None:
    for name, password in (("bob", "guess\n"), ("nobody", PASSWORD)):
        said = typed(
            "decide", "request", "leave", row.recognizer, "--reason", "r", "--as", name,
            stdin=password,
        )  # fmt: skip
        assert (said.code, "no active account" in said.err) == (2, True)
    assert delivery(ROOM).decision == ""


def test_a_refusal_is_a_finding_that_says_why_and_what_would_be_right(row: Delivery) -> None:
    said = typed("decide", "request", "try_again", row.recognizer, "--reason", "r", "--json")

    assert said.code == 1
    assert said.json["error"].startswith("it is unknown. Right would be:")


@pytest.mark.parametrize(
    "words",
    [
        ("request", "leave", "5f3a9c21ff", "--reason", "r"),
        ("request", "nonsense", "5f3a9c21", "--reason", "r"),
        ("approve", "4711"),
        ("undo", "99999999999999999999999999"),
        ("undo", "x"),
        (),
    ],
)
def test_what_does_not_exist_is_a_misuse(words: tuple[str, ...], transactional_db: None) -> None:
    assert typed("decide", *words).code == 2


def test_a_reason_that_is_missing_is_a_misuse_that_names_the_field(row: Delivery) -> None:
    said = typed("decide", "request", "leave", row.recognizer, "--json")

    assert (said.code, said.json["field"]) == (2, "reason")


@pytest.mark.parametrize("at", ["tomorrow", "2026-12-01T08:00:00"])
def test_a_moment_without_a_zone_is_a_misuse(row: Delivery, at: str) -> None:
    said = typed("decide", "request", "look_again", row.recognizer, "--at", at, "--json")

    assert (said.code, said.json["field"]) == (2, "at")


def test_what_was_refused_does_not_wait_any_more(row: Delivery, alice: Person) -> None:
    words = ("--reason", "r", "--note", "n", "--typed", ROOM)
    asked = typed(
        "decide", "request", "send_otherwise", row.recognizer, *words, "--as", "alice", "--json",
        stdin=PASSWORD,
    )  # fmt: skip

    said = typed(
        "decide", "refuse", str(asked.json["decision"]), "--as", "alice", "--reason", "known",
        stdin=PASSWORD,
    )  # fmt: skip

    assert said.code == 0
    assert "waits" not in said.out


def test_what_can_be_undone_is_listed_and_undone(recipient: Simulator, alice: Person) -> None:
    from tests.reviews.scenes import absent

    channel(recipient)
    one = absent(recipient)
    made = typed(
        "decide", "request", "send_after_absent", one.recognizer, "--reason", "r", "--json"
    )

    listed = typed("decide", "list")
    undone = typed("decide", "undo", str(made.json["decision"]), "--json")
    sweep()

    assert listed.code == 0
    assert "1 delivery, by" in listed.out
    assert "may be undone until" in listed.out
    assert (undone.code, undone.json["deliveries"][0]["result"]) == (0, "undone")
    assert recipient.submissions(ROOM) == 1


def test_nothing_waits(transactional_db: None) -> None:
    said = typed("decide", "list")

    assert (said.code, said.out) == (0, "nothing waits\n")
