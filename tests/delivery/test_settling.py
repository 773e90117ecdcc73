"""Settling: one commit for a wave; a bad row costs the others nothing; nothing is sent twice."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection

from delivery.outcomes import Accepted
from delivery.settle import settle
from ledgers.models import Channel, Delivery, OutboxItem
from tests.crash.clock import pass_s
from tests.delivery.senders import Desk
from tests.delivery.waves import finish, take_calls
from tests.factories import SENDER, deliveries, delivery, make_channel, record, sweep

pytestmark = pytest.mark.django_db(transaction=True)

Wrapper = Callable[[Callable[..., Any], str, Any, bool, dict[str, Any]], Any]


def failing_for(attempt_id: int, error: Exception) -> Wrapper:
    """Let every statement fail that closes this attempt."""

    def wrap(execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if "closed_at = clock_timestamp()" in sql and attempt_id in params["attempt_id"]:
            raise error
        return execute(sql, params, many, context)

    return wrap


def test_a_wave_is_settled_in_one_commit(alerts: Channel, desk: Desk) -> None:
    record([f"tg:{n}" for n in range(20)])
    calls = take_calls()
    for call in calls:
        call.run()

    with connection.execute_wrapper(counting := Counting()):
        settle(calls, "worker-1")

    assert {row.status for row in deliveries()} == {"delivered"}
    assert counting.statements < 20


class Counting:
    """Counts statements."""

    def __init__(self) -> None:
        self.statements = 0

    def __call__(
        self, execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]
    ) -> Any:
        self.statements += 1
        return execute(sql, params, many, context)


@pytest.mark.parametrize(
    "error", [IntegrityError("no such page"), UnicodeError("no text"), KeyError("a bug")], ids=repr
)
def test_a_row_that_cannot_be_stored_does_not_make_the_others_forgotten(
    alerts: Channel, desk: Desk, error: Exception
) -> None:
    record([f"tg:{n}" for n in range(5)])
    calls = take_calls()
    for call in calls:
        call.run()

    with connection.execute_wrapper(failing_for(calls[2].attempt_id, error)):
        settle(calls, "worker-1")

    bad = Delivery.objects.get(pk=calls[2].delivery_pk)
    others = Delivery.objects.exclude(pk=bad.pk)
    assert {row.status for row in others} == {"delivered"}
    assert bad.status == "submitting"
    pass_s(3600)
    sweep()
    bad.refresh_from_db()
    assert (bad.status, desk.effects(bad.destination)) == ("unknown", 1)


def test_while_the_database_is_away_nothing_is_written_and_the_answers_are_kept(
    alerts: Channel, desk: Desk
) -> None:
    record(["tg:1", "tg:2"])
    calls = take_calls()
    for call in calls:
        call.run()
    away = failing_for(calls[0].attempt_id, OperationalError("gone"))

    with connection.execute_wrapper(away), pytest.raises(OperationalError):
        settle(calls, "worker-1")
    between = {row.status for row in deliveries()}
    settle(calls, "worker-1")

    assert between == {"submitting"}
    assert {row.status for row in deliveries()} == {"delivered"}
    assert len(desk.received) == 2


def test_settling_the_same_answer_twice_changes_nothing(alerts: Channel, desk: Desk) -> None:
    record()
    calls = take_calls()
    finish(calls)
    before = Delivery.objects.values().get(), delivery().events.count()

    settle(calls, "worker-1")

    assert (Delivery.objects.values().get(), delivery().events.count()) == before


def test_an_answer_to_an_attempt_that_has_one_already_does_not_replace_it(
    alerts: Channel, desk: Desk
) -> None:
    desk.script("tg:1001", RuntimeError("reset"))
    record()
    calls = take_calls()
    finish(calls)

    calls[0].outcome = Accepted("made up")
    settle(calls, "worker-1")

    assert delivery().attempts.get().outcome == "ambiguous"
    assert delivery().status == "unknown"


def test_parts_go_out_in_order_each_after_the_one_before_is_delivered(desk: Desk) -> None:
    make_channel(settings={"path": SENDER, "part_limit": 4})
    desk.script("tg:1001", "id-1", RuntimeError("reset"))
    record(content="abcdefghijkl")

    sweep()

    assert [one.payload for one in desk.received] == ["abcd", "efgh"]
    assert [row.status for row in deliveries()] == ["delivered", "unknown", "pending"]
    assert deliveries()[2].attempt_count == 0
    assert OutboxItem.objects.get().delivery_id == deliveries()[2].pk


def test_hats_are_split_between_characters_and_joined_are_the_text(desk: Desk) -> None:
    make_channel(settings={"path": SENDER, "part_limit": 4096, "part_unit": "utf16"})
    text = "🎩" * 2048 + "x"

    rows = record(content=text)
    sweep()

    parts = [one.payload for one in desk.received]
    assert (len(rows), len(text), len(text.encode("utf-16-le")) // 2) == (2, 2049, 4097)
    assert [len(part.encode("utf-16-le")) // 2 for part in parts] == [4096, 1]
    assert "".join(parts) == text
    assert {row.status for row in deliveries()} == {"delivered"}
    assert len({one.key for one in desk.received}) == 2
