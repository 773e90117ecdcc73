"""The switch outside: pinged while a person would be told, and quiet otherwise."""

from typing import Any

import pytest

from delivery.models import AlarmWay
from delivery.watch import deadman
from delivery.watch.checks import State
from delivery.watch.deadman import deserves_ping
from delivery.watch.rounds import Pusher, look
from tests.factories import make_channel
from tests.watch.people import Hook, Mailbox
from tests.watch.scenes import beat, unknown

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.unverified_ledgers]


@pytest.fixture
def switch(settings: Any, transactional_db: None) -> Any:
    beat()
    with Hook() as hook:
        settings.COUNTERFOIL_DEADMAN_URL = hook.url
        yield hook


def test_where_nothing_is_wrong_it_is_pinged_once_a_minute(switch: Hook) -> None:
    pusher = Pusher()
    for _ in range(3):
        pusher.push(look())

    assert switch.pings == ["/hook/s3cr3t-path?token=t0ken"]
    seen = deadman.seen()
    assert seen is not None
    assert (seen.shown, seen.failing) == ("127.0.0.1", False)
    assert "s3cr3t" not in AlarmWay.objects.get().name


def test_a_trouble_that_somebody_was_told_keeps_it_alive(switch: Hook, mailbox: Mailbox) -> None:
    make_channel()
    unknown(3_700)

    Pusher().push(look())

    assert (len(mailbox.mails), len(switch.pings)) == (1, 1)


def test_a_trouble_that_reaches_nobody_lets_it_go_quiet(switch: Hook, mailbox: Mailbox) -> None:
    make_channel()
    unknown(3_700)
    mailbox.answers = [lambda: "554 never"] * 3

    for _ in range(2):  # also while the failed way waits for its next try
        Pusher().push(look())

    assert switch.pings == []


def test_a_trouble_that_there_is_no_way_to_tell_lets_it_go_quiet(switch: Hook) -> None:
    make_channel()
    unknown(310)

    Pusher().push(look())

    assert switch.pings == []


@pytest.mark.parametrize("state", State)
def test_a_database_that_does_not_answer_lets_it_go_quiet(state: State) -> None:
    assert not deserves_ping(state, ["mail"], lambda _: True, looked=False)


def test_a_switch_that_cannot_be_reached_is_shown_and_stops_no_alarm(
    switch: Hook, mailbox: Mailbox
) -> None:
    switch.statuses = [503]

    Pusher().push(look())

    seen = deadman.seen()
    assert seen is not None
    assert (seen.failing, seen.failure) == (True, "answered 503 Service Unavailable")


def test_whoever_only_looks_pings_nobody(switch: Hook) -> None:
    look()

    assert switch.pings == []
