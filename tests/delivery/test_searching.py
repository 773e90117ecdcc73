"""Looking up what the recipient has: evidence, and the move that the whole history then allows."""

from collections.abc import Callable
from typing import Any

import pytest

from delivery import hooks
from delivery.channels.contract import Finding
from ledgers.models import Attempt, Channel, Credential, Evidence, OutboxItem
from tests.crash.clock import pass_s
from tests.delivery.senders import Desk
from tests.factories import SENDER, deliveries, delivery, make_channel, record, sweep

pytestmark = pytest.mark.django_db(transaction=True)

LONG_AFTER_S = 3600.0


@pytest.fixture(autouse=True)
def searched(transactional_db: None) -> Channel:
    return make_channel(
        settings={
            "path": SENDER,
            "look_up_path": "tests.delivery.senders.look_up",
            "look_up_authoritative": True,
            "part_limit": 4,
        },
        look_up_schedule=[0],
    )


def doubt(desk: Desk, *destinations: str, content: str = "abcd") -> None:
    """Leave deliveries to these destinations unknown, their search due."""
    for destination in destinations:
        desk.script(destination, RuntimeError("reset"))
    record(destinations, content)
    sweep()
    assert {row.status for row in deliveries() if row.part == 1} == {"unknown"}
    pass_s(LONG_AFTER_S)


def test_what_is_found_is_delivered_by_the_id_it_was_found_under_and_told_once(
    desk: Desk,
) -> None:
    told: list[str] = []

    def receive(destination: str, **_: object) -> None:
        told.append(destination)

    doubt(desk, "tg:1")
    desk.found = "msg-5"
    hooks.delivered.connect(receive)
    try:
        sweep()
    finally:
        hooks.delivered.disconnect(receive)

    row = delivery("tg:1")
    assert (row.status, row.provider_message_id) == ("delivered", "msg-5")
    assert (len(desk.received), told) == (1, ["tg:1"])
    assert Evidence.objects.get().verdict == "found"


def test_what_is_proven_absent_waits_for_a_person_unless_the_channel_says_otherwise(
    desk: Desk,
) -> None:
    doubt(desk, "tg:1")
    desk.found = False

    sweep()

    row = delivery("tg:1")
    assert (row.status, row.cause.partition(":")[0]) == ("pending", "absent")
    assert not OutboxItem.objects.exists()
    assert len(desk.received) == 1


def test_what_is_proven_absent_is_sent_again_where_the_channel_says_so(desk: Desk) -> None:
    Channel.objects.update(resend_after_absent="automatic")
    doubt(desk, "tg:1")
    desk.found = False

    sweep()

    assert delivery("tg:1").status == "delivered"
    assert len(desk.received) == 2
    assert len({one.key for one in desk.received}) == 1


@pytest.mark.parametrize("said", [None, 7, RuntimeError("no"), SystemExit(1)], ids=repr)
def test_a_search_that_proves_nothing_leaves_it_unknown_and_asks_a_person(
    desk: Desk, said: object
) -> None:
    def answer(_: Any) -> object:
        if isinstance(said, BaseException):
            raise said
        return said

    doubt(desk, "tg:1")
    desk.found = answer

    sweep()

    row = delivery("tg:1")
    assert (row.status, Evidence.objects.get().verdict) == ("unknown", "inconclusive")
    assert row.cause.startswith("blocked:")


def test_a_finding_that_cannot_be_kept_keeps_no_other_from_being_kept(desk: Desk) -> None:
    def answer(asked: dict[str, Any]) -> object:
        if asked["destination"] == "tg:1":
            return Finding("key_lookup", "x" * 50, "a verdict that nobody knows")  # type: ignore[arg-type]
        return f"id-of-{asked['destination']}"

    doubt(desk, "tg:1", "tg:2", "tg:3")
    desk.found = answer

    sweep()

    assert {row.destination: row.status for row in deliveries()} == {
        "tg:1": "unknown",
        "tg:2": "delivered",
        "tg:3": "delivered",
    }
    assert Evidence.objects.count() == 3


@pytest.mark.parametrize(
    "said",
    [
        Finding("key_lookup", "maybe", "x"),  # type: ignore[arg-type]
        Finding("a" * 50, "found", "x"),  # type: ignore[arg-type]
        Finding("key_lookup", "found", "x", provider_message_id="7" * 301),
        Finding("key_lookup", "absent", "x", covered_from="long ago"),  # type: ignore[arg-type]
        Finding("key_lookup", "absent", None),  # type: ignore[arg-type]
        Finding("key_lookup", "absent", "x", pages=2**40),
    ],
    ids=repr,
)
def test_a_finding_that_cannot_be_used_counts_as_a_search_and_asks_a_person(
    desk: Desk, said: Finding
) -> None:
    doubt(desk, "tg:1")
    desk.found = said

    sweep()

    seen = Evidence.objects.get()
    assert (delivery("tg:1").status, seen.verdict) == ("unknown", "inconclusive")
    assert "cannot be used" in seen.why
    assert delivery("tg:1").cause.startswith("blocked:")
    assert not OutboxItem.objects.exists()


@pytest.mark.parametrize("found", [RuntimeError, "id-{}".format], ids=["raises", "finds"])
def test_the_secret_that_a_peer_repeats_is_kept_nowhere(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, found: Callable[[str], object]
) -> None:
    secret = "sekret/0123456789"
    monkeypatch.setenv("DESK_SECRET", secret)
    Credential.objects.update(secret_ref="env:DESK_SECRET")

    def answer(_: Any) -> object:
        said = found(secret)
        if isinstance(said, Exception):
            raise said
        return said

    desk.script("tg:1", RuntimeError(f"401 for Bearer {secret}"))
    record(["tg:1"], "abcd")
    sweep()
    pass_s(LONG_AFTER_S)
    desk.found = answer
    sweep()

    attempt, seen = Attempt.objects.get(), Evidence.objects.get()
    assert attempt.error.endswith("401 for Bearer [secret]")
    assert "[secret]" in seen.why + seen.provider_message_id
    assert secret not in repr([vars(attempt), vars(seen), vars(delivery("tg:1"))])


def test_a_part_that_is_found_lets_the_next_one_go_at_once(desk: Desk) -> None:
    doubt(desk, "tg:1", content="abcdefgh")
    desk.found = "msg-1"

    sweep()

    assert [row.status for row in deliveries()] == ["delivered", "delivered"]
    assert [one.payload for one in desk.received] == ["abcd", "efgh"]
