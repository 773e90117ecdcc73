"""The database fails as a whole: answers are kept, nothing new is sent, and the log stays short."""

import logging
from collections.abc import Iterator

import pytest
from django.db import InternalError, connection, transaction

from delivery.settle import settle
from delivery.troubles import MOST_KINDS, Troubles
from delivery.worker import Worker
from ledgers.models import Attempt, Channel
from ledgers.outage import is_outage
from tests.delivery.senders import Desk
from tests.delivery.waves import take_call, take_calls
from tests.factories import delivery, record, sweep


def session(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.fixture
def read_only() -> Iterator[None]:
    yield
    session("SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE")


def become_read_only() -> None:
    """As after a failover to a server that takes no writes."""
    session("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("read_only")
class TestReadOnly:
    def test_an_answer_is_kept_and_written_later(self, alerts: Channel, desk: Desk) -> None:
        record()
        call = take_call()
        call.run()
        become_read_only()

        with pytest.raises(InternalError, match="read-only"):
            settle([call], "worker-1")
        session("SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE")
        settle([call], "worker-1")

        assert Attempt.objects.get().outcome == "accepted"
        assert (delivery().status, desk.effects("tg:1001")) == ("delivered", 1)

    def test_nothing_is_sent(self, alerts: Channel, desk: Desk) -> None:
        record()
        become_read_only()

        with pytest.raises(InternalError, match="read-only"):
            take_calls()
        sweep_in_vain()
        session("SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE")

        assert (len(desk.received), Attempt.objects.count()) == (0, 0)
        sweep()
        assert delivery().status == "delivered"


def sweep_in_vain() -> None:
    """One turn of a worker."""
    worker = Worker("shift")
    worker._turn()
    worker._pool.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("statement", "everybody"),
    [
        ("SELECT * FROM a_table_that_is_gone", True),
        ("SET LOCAL transaction_read_only = on; CREATE TABLE never (id int)", True),
        ("SET LOCAL ROLE nobody_at_all; SELECT 1", False),
        ("SET LOCAL statement_timeout = '1ms'; SELECT pg_sleep(1)", True),
        ("SELECT 1 / 0", False),
        ("SELECT 'x'::int", False),
        ("SELECT pg_terminate_backend(pg_backend_pid())", True),
    ],
)
def test_what_fails_for_every_row_alike_is_told_from_what_fails_for_one(
    statement: str, everybody: bool
) -> None:
    with pytest.raises(Exception, match=r".+") as raised, transaction.atomic():
        session(statement)

    assert is_outage(raised.value) is everybody
    connection.close()


class TestTroubles:
    def test_an_outage_is_said_once_and_its_end_once(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        troubles = Troubles()

        for _ in range(50):
            troubles.database_fails(InternalError("in a read-only\ntransaction"), 3)
        for _ in range(50):
            troubles.database_works()

        first, last = [one.getMessage() for one in caplog.records]
        assert "InternalError: in a read-only transaction. Nothing new is sent, 3 answers" in first
        assert "works again" in last
        assert not troubles.outage

    def test_a_second_outage_is_said_as_the_first_was(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        troubles = Troubles()

        for _ in range(2):
            troubles.database_fails(InternalError("gone"), 0)
            troubles.database_works()

        assert [one.levelno for one in caplog.records] == [logging.ERROR, logging.WARNING] * 2

    def test_the_same_error_is_traced_once_and_another_at_once(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        troubles = Troubles()

        for number in range(20):
            troubles.error(KeyError("the same"))
            troubles.error(KeyError(f"not the same {number % 2}"))

        assert len(caplog.records) == 3
        assert all(one.exc_info for one in caplog.records)

    def test_a_thousand_kinds_of_errors_are_not_all_remembered(self) -> None:
        troubles = Troubles()

        for number in range(1000):
            troubles.error(KeyError(str(number)))

        assert len(troubles._said) <= MOST_KINDS
