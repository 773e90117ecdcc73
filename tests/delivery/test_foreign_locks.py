"""What somebody else holds stops nobody's work on other rows."""

import pytest

from delivery.worker import Worker
from ledgers.models import Attempt, Channel
from tests.delivery.senders import Desk
from tests.delivery.waves import take_calls
from tests.factories import delivery, record, sweep
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
