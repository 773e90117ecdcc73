"""What a provider asks for is honoured in every form, end to end, and costs no attempt."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from delivery.simulator.client import Simulator
from ledgers import rulings
from ledgers.clock import database_now
from ledgers.models import Attempt, Channel, Delivery
from tests.crash.clock import pass_s
from tests.factories import deliveries, delivery, make_due, record, sweep
from tests.retry.ways import DAY, HOUR, hooks, outcomes, rooms, wire

BACKOFF_S = 5.0
FORMS: dict[str, tuple[object, float]] = {  # what is said, and the seconds that it means at least
    "seconds": (3, 3),
    "fraction": ("0.3", 0.3),
    "thirteen": ("13", 13),
    "absent": (None, 0),
    "negative": ("-5", 0),
    "garbage": ("soon", 0),
    "empty": ("", 0),
    "infinite": ("inf", 0),
    "huge": (DAY, DAY),
    "enormous": ("9" * 300, 7 * DAY),
}


def limited(said: object) -> dict[str, object]:
    asked = {} if said is None else {"retry_after": said}
    return {"do": "rate_limit", **asked}


def pause(row: Delivery) -> float:
    """Seconds from the answer to the moment at which it is due again."""
    closed = Attempt.objects.get(delivery=row).closed_at
    assert closed is not None
    assert row.next_attempt_at is not None
    return (row.next_attempt_at - closed).total_seconds()


@pytest.fixture
def hooked(recipient: Simulator) -> Channel:
    return hooks(retry_schedule=[BACKOFF_S], max_attempts=1)


@pytest.mark.usefixtures("hooked")
def test_the_next_attempt_is_no_earlier_than_asked_and_the_budget_is_untouched(
    recipient: Simulator,
) -> None:
    for name, (said, _) in FORMS.items():
        recipient.behave(name, limited(said))
    record([recipient.hook(name) for name in FORMS])

    sweep(len(FORMS))
    pauses = {name: pause(delivery(recipient.hook(name))) for name in FORMS}
    make_due()
    sweep(len(FORMS))  # asked too early, it still waits
    early = {name: wire(recipient, name) for name in FORMS}
    pass_s(8 * DAY)
    sweep(len(FORMS))

    for name, (_, least) in FORMS.items():
        assert pauses[name] >= max(least, 0.8 * BACKOFF_S), name
        assert pauses[name] <= max(least, 1.2 * BACKOFF_S) + 0.01, name
    assert set(map(tuple, early.values())) == {("rate_limit",)}
    assert {row.status for row in deliveries()} == {"delivered"}
    assert all(outcomes(row.destination) == ["deferred", "accepted"] for row in deliveries())
    assert set(recipient.effects_by_destination().values()) == {1}


@pytest.mark.usefixtures("hooked")
def test_a_date_is_waited_for(recipient: Simulator) -> None:
    date = (datetime.now(UTC) + timedelta(hours=2)).replace(microsecond=0)
    past = datetime.now(UTC) - timedelta(hours=2)
    recipient.behave("later", limited(format_datetime(date, usegmt=True)))
    recipient.behave("past", limited(format_datetime(past, usegmt=True)))
    record([recipient.hook("later"), recipient.hook("past")])

    sweep()

    later, past_ = delivery(recipient.hook("later")), delivery(recipient.hook("past"))
    assert later.next_attempt_at is not None
    assert timedelta(0) <= later.next_attempt_at - date < timedelta(seconds=5)
    assert pause(past_) < 1.2 * BACKOFF_S + 0.01


@pytest.mark.usefixtures("hooked")
def test_a_date_is_read_on_the_clock_of_whoever_named_it(recipient: Simulator) -> None:
    theirs = datetime.now(UTC) + timedelta(days=3)  # a server whose clock is wrong
    says: dict[str, Any] = limited(format_datetime(theirs + timedelta(minutes=10), usegmt=True))
    says["headers"] = {"Date": format_datetime(theirs, usegmt=True)}
    recipient.behave("a", says)
    record([recipient.hook("a")])

    sweep()

    assert 600 <= pause(delivery(recipient.hook("a"))) < 601


def test_being_asked_again_and_again_never_uses_the_budget_up(recipient: Simulator) -> None:
    rooms(recipient, max_attempts=1)
    recipient.behave("room:a", *[limited(HOUR)] * 5)
    record(["room:a"])

    for _ in range(6):
        sweep()
        pass_s(HOUR + 1)

    assert outcomes("room:a") == ["deferred"] * 5 + ["accepted"]
    assert recipient.effects("room:a") == 1


def keyed(recipient: Simulator) -> None:
    """A channel whose provider honours a key for a day."""
    rooms(recipient, settings={"dedupe_window_s": DAY}, retry_schedule=[BACKOFF_S], max_attempts=2)
    recipient.behave("room:a", limited(DAY), dedupe_s=DAY)
    record(["room:a"])


def test_a_pause_longer_than_the_key_protects_needs_a_persons_word(recipient: Simulator) -> None:
    keyed(recipient)

    for _ in range(5):
        sweep()
        pass_s(DAY)
    row = delivery("room:a")

    assert (row.status, outcomes("room:a")) == ("pending", ["deferred"])
    assert "approval required: the provider asks to wait 86400 s" in row.cause
    assert "(86394 s)" in row.cause
    told = [(event.kind, event.rule) for event in row.events.all()]
    assert told[2:] == [("clear", "held")]  # once, however often it was looked at


def test_a_person_who_lets_it_go_on_does_not_make_it_go_before_its_time(
    recipient: Simulator,
) -> None:
    keyed(recipient)
    sweep()
    row = delivery("room:a")

    rulings.decide({row.pk: row.row_version}, "try_again", rulings.By("ada", {}))
    sweep()
    waiting = delivery("room:a")
    pass_s(DAY + 1)
    sweep()

    assert waiting.cause.startswith("too-early:")
    assert waiting.next_attempt_at is not None
    assert waiting.next_attempt_at - database_now() < timedelta(seconds=DAY)
    assert (delivery("room:a").status, recipient.effects("room:a")) == ("delivered", 1)


def test_a_pause_within_what_the_key_protects_is_simply_waited_for(recipient: Simulator) -> None:
    rooms(recipient, settings={"dedupe_window_s": 2 * DAY}, retry_schedule=[BACKOFF_S])
    recipient.behave("room:a", limited(DAY))
    record(["room:a"])

    sweep()
    between = delivery("room:a").cause
    pass_s(DAY + 1)
    sweep()

    assert between.startswith("too-early:")
    assert delivery("room:a").status == "delivered"


def test_an_answer_that_proves_nothing_names_the_pause_before_the_same_key(
    recipient: Simulator,
) -> None:
    rooms(recipient, settings={"dedupe_window_s": DAY}, retry_schedule=[BACKOFF_S])
    recipient.behave("room:a", {"do": "503+effect", "retry_after": 600}, dedupe_s=DAY)
    record(["room:a"])

    sweep()
    asked = delivery("room:a")
    waits_s = pause(asked)
    pass_s(599)
    sweep()
    early = outcomes("room:a")
    pass_s(2)
    sweep()

    assert (asked.status, asked.cause[:9]) == ("unknown", "same-key:")
    assert 600 <= waits_s < 601
    assert early == ["ambiguous"]
    assert (outcomes("room:a"), recipient.effects("room:a")) == (["ambiguous", "accepted"], 1)
