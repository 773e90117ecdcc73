"""The database goes away between claim and call: nothing waits for a lease or is in doubt."""

from collections.abc import Callable, Iterator

import pytest
from django.db import OperationalError, connection

from delivery.uncalled import hand_back
from ledgers import boundaries
from ledgers.models import Attempt, Channel, Delivery, OutboxItem
from tests.delivery.senders import Desk
from tests.delivery.waves import take_call, take_calls
from tests.factories import delivery, make_due, record, sweep

pytestmark = pytest.mark.django_db(transaction=True)
TO = ["tg:1", "tg:2", "tg:3"]


@pytest.fixture
def lost_at() -> Iterator[Callable[[str], None]]:
    """Lose the connection at this point, once."""

    def arm(point: str) -> None:
        def lose(name: str) -> None:
            if name == point:
                boundaries.listen(None)
                connection.close()
                raise OperationalError("the server closed the connection unexpectedly")

        boundaries.listen(lose)

    yield arm
    boundaries.listen(None)


@pytest.mark.parametrize(("point", "opened"), [("claimed", 0), ("written-ahead", 3)])
def test_what_was_never_called_is_handed_back_at_once_and_in_no_doubt(
    alerts: Channel, desk: Desk, lost_at: Callable[[str], None], point: str, opened: int
) -> None:
    record(TO)
    lost_at(point)

    sweep()
    sent_meanwhile = len(desk.received)
    tried = list(Attempt.objects.values_list("outcome", flat=True))
    still_leased = OutboxItem.objects.filter(leased=True).count()
    sweep()

    assert (sent_meanwhile, tried, still_leased) == (0, ["not_tried"] * opened, 0)
    assert {row.status for row in Delivery.objects.all()} == {"delivered"}
    assert sorted(one.destination for one in desk.received) == TO
    assert not delivery("tg:1").events.filter(kind="suspect").exists()


def test_what_was_taken_for_lost_meanwhile_is_in_doubt_no_more(alerts: Channel, desk: Desk) -> None:
    record(["tg:1"])
    call = take_call()
    make_due()
    take_calls("worker-2")
    doubted = delivery("tg:1").status

    hand_back({call.delivery_pk: call.fence}, "worker-1")
    sweep()

    assert doubted == "unknown"
    assert list(Attempt.objects.values_list("outcome", "late")) == [
        ("not_tried", True),
        ("accepted", False),
    ]
    assert (delivery("tg:1").status, len(desk.received)) == ("delivered", 1)


def test_a_call_that_another_worker_has_begun_since_is_left_alone(
    alerts: Channel, desk: Desk
) -> None:
    record(["tg:1"])
    make_due()
    first = take_call().fence - 1  # of a claim that came to no attempt
    before = OutboxItem.objects.get().due_at

    hand_back({delivery("tg:1").pk: first}, "worker-1")

    item = OutboxItem.objects.get()
    assert (item.leased, item.due_at) == (True, before)
    assert Attempt.objects.get().outcome == ""


def test_a_call_of_another_worker_to_whom_a_restore_gave_the_same_fence_is_left_alone(
    alerts: Channel, desk: Desk
) -> None:
    """Called not tried, a submission that is on the wire would be made once more."""
    record(["tg:1"])
    call = take_call()

    hand_back({call.delivery_pk: call.fence}, "worker-of-before-the-restore")

    assert Attempt.objects.get().outcome == ""
    assert OutboxItem.objects.get().leased
