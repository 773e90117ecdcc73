"""What somebody else holds stops nobody's work on other rows."""

import pytest
from django.db import connection

from delivery.worker import Worker
from ledgers.models import Attempt, Channel
from tests.delivery.senders import Desk
from tests.delivery.waves import take_calls
from tests.factories import delivery, make_channel, record, sweep
from tests.ledgers.connections import second_connection

pytestmark = pytest.mark.django_db(transaction=True)

LOCK = "SELECT 1 FROM ledgers_delivery WHERE destination = %s FOR UPDATE"


def test_a_row_that_somebody_holds_is_passed_over_and_the_others_go_out(
    alerts: Channel, desk: Desk
) -> None:
    record(["tg:1", "tg:2", "tg:3"])

    with second_connection() as other:
        other.execute(LOCK, ["tg:2"])
        sweep()
        meanwhile = [delivery(to).status for to in ("tg:1", "tg:2", "tg:3")]
        other.rollback()
    sweep()

    assert meanwhile == ["delivered", "pending", "delivered"]
    assert delivery("tg:2").status == "delivered"
    assert [desk.effects(to) for to in ("tg:1", "tg:2", "tg:3")] == [1, 1, 1]


def test_an_answer_for_a_row_that_somebody_holds_is_kept_until_it_can_be_written(
    alerts: Channel, desk: Desk
) -> None:
    record(["tg:1", "tg:2"])
    calls = take_calls()
    for call in calls:
        call.run()
    worker = Worker("shift")
    worker._calls = calls

    with second_connection() as other:
        other.execute(LOCK, ["tg:2"])
        worker._settle()
        meanwhile = [delivery(to).status for to in ("tg:1", "tg:2")]
        other.rollback()
    worker._settle()

    assert meanwhile == ["delivered", "submitting"]
    assert delivery("tg:2").status == "delivered"
    assert Attempt.objects.filter(late=True).count() == 0
    assert worker._calls == []


@pytest.mark.parametrize(
    "held",
    [
        "UPDATE ledgers_channel SET pause_reason = 'soon' WHERE slug = 'limited'",
        "SELECT 1 FROM delivery_channelmeter FOR UPDATE",
    ],
    ids=["a change nobody commits", "a worker frozen in its claim"],
)
def test_a_limit_that_somebody_holds_stops_its_own_channel_only(
    alerts: Channel, desk: Desk, held: str
) -> None:
    make_channel("limited", concurrency=1, rate_per_s=1000)
    record(["tg:0"], run_id="run-0", channel="limited")
    sweep()
    record(["tg:1"])
    record(["tg:2"], run_id="run-2", channel="limited")

    with second_connection() as other, connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '2s'")
        other.execute(held)
        sweep()
        meanwhile = delivery("tg:1").status, delivery("tg:2", "run-2").status
        other.rollback()
        cursor.execute("RESET statement_timeout")
    sweep()

    assert meanwhile == ("delivered", "pending")
    assert delivery("tg:2", "run-2").status == "delivered"
    assert desk.effects("tg:2") == 1
