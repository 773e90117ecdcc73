"""Each destination and each part is tried for itself; what one does is nothing to the others."""

from typing import Any

import pytest

from delivery import agent
from delivery.simulator.client import Simulator
from ledgers.models import Event
from tests.crash.clock import pass_s
from tests.factories import deliveries, delivery, make_due, message, record, sweep
from tests.retry.ways import DAY, HOUR, hooks, outcomes, rooms

SEARCH_NOTHING = {"scan": False, "look_up_by_key": False, "look_up_by_id": False}
KEYED = {"dedupe_window_s": DAY} | SEARCH_NOTHING
PART = 24  # units of text in a part, beside what is kept free for the recognizer


def parted(recipient: Simulator, count: int, **fields: Any) -> None:
    """One message in so many parts to `room:a`, recorded."""
    settings = KEYED | {"part_limit": PART, "recognizer_place": "hidden"}
    rooms(recipient, settings=settings, **fields)
    words = [f"part {n}".ljust(PART, ".") for n in range(1, count + 1)]
    rows = record(["room:a"], "".join(words))
    assert len(rows) == count


def order(recipient: Simulator, to: str = "room:a") -> list[int]:
    """The parts in the order in which they were on the wire."""
    by_key = {row.idempotency_key: row.part for row in deliveries()}
    return [by_key[one["key"]] for one in recipient.last_submissions(to, 1000)]


def test_one_invalid_destination_of_twenty_is_tried_once_and_the_others_get_one_each(
    recipient: Simulator,
) -> None:
    rooms(recipient)
    everybody = [f"room:{n}" for n in range(20)]
    recipient.behave("room:19", always="refuse")
    record(everybody)

    for _ in range(8):
        sweep()
        make_due()

    assert recipient.effects_by_destination() == dict.fromkeys(everybody[:19], 1)
    assert delivery("room:19").status == "failed"
    assert outcomes("room:19") == ["refused"]
    assert recipient.submissions() == 20


def test_one_host_that_asks_to_wait_does_not_hold_or_repeat_another(
    recipient: Simulator,
) -> None:
    hooks()
    recipient.behave("b", {"do": "rate_limit", "retry_after": 60})
    record([recipient.hook("a"), recipient.hook("b")])

    sweep()
    between = [row.status for row in deliveries()]
    pass_s(61)
    sweep()

    assert between == ["delivered", "pending"]
    assert [row.status for row in deliveries()] == ["delivered", "delivered"]
    assert recipient.effects_by_destination() == {"a": 1, "b": 1}
    assert recipient.submissions("a") == 1


def test_one_refused_of_three_leaves_the_first_and_the_third_delivered(
    recipient: Simulator,
) -> None:
    rooms(recipient)
    recipient.behave("room:2", "refuse")
    record(["room:1", "room:2", "room:3"])

    sweep()

    assert [row.status for row in deliveries()] == ["delivered", "failed", "delivered"]


def test_a_retry_begins_at_the_part_that_failed(recipient: Simulator) -> None:
    parted(recipient, 2, retry_schedule=[0])
    recipient.behave("room:a", "accept", "503", "accept", dedupe_s=DAY)

    for _ in range(3):
        sweep()
        make_due()

    assert order(recipient) == [1, 2, 2]
    assert [row.status for row in deliveries()] == ["delivered", "delivered"]
    assert recipient.effects("room:a") == 2


def test_of_seven_parts_only_the_one_that_failed_is_sent_again(recipient: Simulator) -> None:
    parted(recipient, 7)
    recipient.behave("room:a", *["accept"] * 5, "503", "accept", "accept", dedupe_s=DAY)

    sweep()

    assert order(recipient) == [1, 2, 3, 4, 5, 6, 6, 7]
    assert recipient.effects("room:a") == 7


def test_a_limited_part_is_waited_for_and_the_next_one_does_not_overtake_it(
    recipient: Simulator,
) -> None:
    parted(recipient, 3)
    recipient.behave("room:a", "accept", {"do": "rate_limit", "retry_after": 60})

    sweep()
    make_due()
    sweep()
    between = order(recipient)
    pass_s(61)
    make_due()
    sweep()

    assert between == [1, 2]
    assert order(recipient) == [1, 2, 2, 3]
    assert {row.status for row in deliveries()} == {"delivered"}


def test_parts_that_are_delivered_are_not_sent_again_whatever_becomes_of_the_rest(
    recipient: Simulator,
) -> None:
    parted(recipient, 4)
    recipient.behave("room:a", "accept", "accept", "refuse")

    for _ in range(4):
        sweep()
        pass_s(HOUR)
        make_due()

    assert order(recipient) == [1, 2, 3]
    assert [row.status for row in deliveries()[:3]] == ["delivered", "delivered", "failed"]
    assert deliveries()[3].status == "pending"  # behind a part that will not come


def test_the_parts_of_one_destination_do_not_wait_for_those_of_another(
    recipient: Simulator,
) -> None:
    settings = SEARCH_NOTHING | {"part_limit": PART, "recognizer_place": "hidden"}
    rooms(recipient, settings=settings)
    recipient.behave("room:a", "503")
    record(["room:a", "room:b"], "first".ljust(PART, ".") + "second".ljust(PART, "."))

    sweep()

    assert recipient.effects_by_destination() == {"room:b": 2}
    assert delivery("room:a").status == "unknown"
    assert delivery("room:a", part=2).status == "pending"


@pytest.mark.usefixtures("recipient")
def test_equal_texts_of_two_messages_are_two_and_another_content_of_the_same_is_a_drift(
    recipient: Simulator,
) -> None:
    hooks()
    to = [recipient.hook("a")]
    text, files = "see below", (["a.pdf"], ["b.pdf"])
    contents = [{"text": text, "files": one} for one in files]
    with agent.run("run-1", agent="tester") as run:
        owed = [message(to, content, name=f"m{n}") for n, content in enumerate(contents)]
        run.step("write").complete({}, owed)

    with agent.run("run-1", agent="tester") as run:  # and again, with another file
        other = message(to, {"text": text, "files": ["c.pdf"]}, name="m0")
        run.step("write").complete({}, [other])
    sweep()

    assert len({row.delivery_id for row in deliveries()}) == 2
    assert recipient.effects("a") == 2
    assert Event.objects.filter(kind="payload_drift").count() == 1
