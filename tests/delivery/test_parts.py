"""Parts of one message: in order, without noise, and never for ever."""

import pytest

from delivery.errors import RefusedError
from ledgers.models import Event, OutboxItem
from tests.delivery.senders import Desk
from tests.factories import SENDER, deliveries, make_channel, record, sweep

pytestmark = pytest.mark.django_db(transaction=True)


def in_parts() -> None:
    make_channel(settings={"path": SENDER, "part_limit": 4})


def test_a_part_that_waits_is_not_claimed_before_the_one_before_has_ended(desk: Desk) -> None:
    in_parts()
    record(content="abcdefghijkl")

    worker = sweep()

    assert [row.status for row in deliveries()] == ["delivered"] * 3
    assert [one.payload for one in desk.received] == ["abcd", "efgh", "ijkl"]
    assert worker.claimed == 3


def test_behind_a_part_that_failed_a_person_is_asked_about_the_rest(desk: Desk) -> None:
    in_parts()
    desk.script("tg:1001", RefusedError("no such chat"))
    record(content="abcdefgh")

    sweep()
    first, second = deliveries()

    assert (first.status, second.status) == ("failed", "pending")
    assert second.cause == (
        "earlier-part: an earlier part will not be delivered; a person decides about the rest"
    )
    assert Event.objects.filter(delivery=second, kind="ask").count() == 1
    assert not OutboxItem.objects.exists()
