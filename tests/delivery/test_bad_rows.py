"""A row that nothing can be decided about is held where people see it, and stops nobody else."""

import pytest
from django.db import connection, transaction

from ledgers.models import Attempt, Channel, Event
from tests.crash.clock import pass_s
from tests.delivery.senders import Desk
from tests.delivery.waves import finish, take_call
from tests.factories import delivery, record, sweep

pytestmark = pytest.mark.django_db(transaction=True)


def write(sql: str, run_id: str) -> None:
    """Change a run's message behind the triggers' back, as a hand or a faulty disk can."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(
            f"UPDATE ledgers_message m SET {sql} FROM ledgers_step s, ledgers_run r"
            " WHERE s.id = m.step_id AND r.id = s.run_id AND r.run_id = %s",
            [run_id],
        )
        assert cursor.rowcount == 1


def test_a_row_that_cannot_be_read_holds_itself_and_nobody_else(
    alerts: Channel, desk: Desk
) -> None:
    record([f"tg:{n}" for n in range(3)])
    record(["tg:bad"], run_id="run-bad")
    record([f"sms:{n}" for n in range(3)], run_id="run-2")
    write("contract = '{}'", "run-bad")

    sweep()

    bad = delivery("tg:bad", "run-bad")
    assert {delivery(f"tg:{n}").status for n in range(3)} == {"delivered"}
    assert {delivery(f"sms:{n}", "run-2").status for n in range(3)} == {"delivered"}
    assert (bad.status, bad.attempt_count) == ("pending", 0)
    assert bad.cause == "held: it cannot be worked with: KeyError"
    assert Event.objects.filter(delivery=bad, kind="hold", rule="held").count() == 1


def test_a_row_that_can_be_read_again_is_sent_once_without_anybody_asking(
    alerts: Channel, desk: Desk
) -> None:
    good, bad = record(["tg:1"])[0], record(["tg:bad"], run_id="run-bad")[0]
    write("not_after = 'infinity'", "run-bad")
    sweep()
    held = delivery("tg:bad", "run-bad").cause

    write("not_after = NULL", "run-bad")
    pass_s(31)
    sweep()

    assert held.startswith("held: it cannot be worked with")
    assert {row.status for row in (delivery("tg:1"), delivery("tg:bad", "run-bad"))} == {
        "delivered"
    }
    assert [desk.effects(row.destination) for row in (good, bad)] == [1, 1]


def test_an_answer_is_kept_although_nobody_can_decide_what_it_means(
    alerts: Channel, desk: Desk
) -> None:
    record(["tg:1"])
    call = take_call()
    contract = call_contract()
    write("contract = '{}'", "run-1")

    finish([call])

    attempt = Attempt.objects.get()
    assert (attempt.outcome, attempt.provider_message_id) == ("accepted", "id-1")
    assert delivery("tg:1").status == "submitting"
    write(f"contract = '{contract}'", "run-1")
    pass_s(61)
    sweep()
    assert (delivery("tg:1").status, desk.effects("tg:1")) == ("delivered", 1)


def call_contract() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT contract::text FROM ledgers_message")
        return str(cursor.fetchone()[0])
