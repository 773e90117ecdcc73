"""Errors between claim and call: no attempt on record stays uncalled, no place stays taken."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection

from delivery.breaker import Breaker
from delivery.channels.function import FunctionAdapter
from ledgers import evidence
from ledgers.models import Channel, Credential
from tests.crash.clock import pass_s
from tests.delivery.senders import Desk
from tests.factories import delivery, make_channel, make_due, record, sweep

pytestmark = pytest.mark.django_db(transaction=True)

Wrapper = Callable[[Callable[..., Any], str, Any, bool, dict[str, Any]], Any]


def failing_at(part: str) -> Wrapper:
    """The first statement with this in it fails, as when the database goes away for a moment."""
    failed: list[str] = []

    def wrap(execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if part in sql and not failed:
            failed.append(sql)
            raise OperationalError("the server closed the connection")
        return execute(sql, params, many, context)

    return wrap


def hold(channel: Channel) -> None:
    """What is claimed of this channel comes to no call."""
    Credential.objects.filter(pk=channel.credential_id).update(destination_rules=["sms:*"])


def test_a_refund_that_fails_does_not_keep_what_is_on_record_from_being_called(desk: Desk) -> None:
    make_channel(rate_per_s=50)
    narrow = make_channel("narrow", rate_per_s=50)
    record(["tg:1"])
    record(["tg:2"], run_id="run-2", channel="narrow")
    hold(narrow)

    with connection.execute_wrapper(failing_at("tokens = m.tokens + w.count")):
        sweep()

    assert delivery("tg:1").status == "delivered"
    assert desk.effects("tg:1") == 1


def test_a_hand_back_that_fails_does_not_keep_the_others_of_the_wave_from_being_called(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = FunctionAdapter.render

    def render_and_withdraw(self: FunctionAdapter, envelope: Any) -> Any:
        """Somebody withdraws it between the decision and the write-ahead."""
        if envelope.destination == "tg:1":
            evidence.withdraw([withdrawn.pk], "ada", "not wanted")
        return original(self, envelope)

    make_channel()
    withdrawn, _ = record(["tg:1", "tg:2"])
    monkeypatch.setattr(FunctionAdapter, "render", render_and_withdraw)

    with connection.execute_wrapper(failing_at("SET due_at = clock_timestamp(), leased = false")):
        sweep()
    between = delivery("tg:1").status, delivery("tg:2").status
    pass_s(61)
    sweep()

    assert between == ("pending", "delivered")
    assert delivery("tg:1").status == "cancelled"
    assert (desk.effects("tg:1"), desk.effects("tg:2")) == (0, 1)


@pytest.mark.parametrize(
    "part", ["INSERT INTO ledgers_attempt", "kept AS"], ids=["write-ahead", "postponing the others"]
)
def test_a_wave_that_fails_leaves_no_call_under_way(
    desk: Desk, own_breaker: Breaker, part: str
) -> None:
    make_channel()
    narrow = make_channel("narrow")
    record(["tg:1"])
    record(["tg:2"], run_id="run-2", channel="narrow")
    hold(narrow)

    with connection.execute_wrapper(failing_at(part)):
        sweep()
    left = dict(own_breaker._states)
    make_due()
    sweep()

    assert left == {}
    assert delivery("tg:1").status == "delivered"
    assert desk.effects("tg:1") == 1
