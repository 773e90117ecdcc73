"""The pause after an attempt: spread, the same everywhere, and never past the key's protection."""

import subprocess
import sys
from datetime import timedelta
from uuid import uuid4

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from delivery.errors import NotSentError
from delivery.simulator.client import Simulator
from delivery.timing import JITTER, backoff_s
from tests.crash.clock import pass_s
from tests.delivery.senders import Desk
from tests.factories import deliveries, delivery, make_channel, record, sweep
from tests.retry.ways import DAY, HOUR, MINUTE, outcomes, rooms

SCHEDULE = [1.0, 5.0, 30.0, 120.0]

seconds = st.floats(min_value=0, max_value=1e7)
schedules = st.lists(seconds, min_size=1, max_size=8)


@given(st.uuids(), st.integers(1, 40), schedules)
def test_a_pause_is_within_a_fifth_of_the_schedules_entry(
    identity: object, number: int, schedule: list[float]
) -> None:
    base = schedule[min(number, len(schedule)) - 1]

    pause = backoff_s(str(identity), number, schedule)

    assert base * (1 - JITTER) <= pause <= base * (1 + JITTER)
    assert JITTER == 0.2


def test_what_failed_together_does_not_come_back_together() -> None:
    pauses = {round(backoff_s(str(uuid4()), 1, [100.0])) for _ in range(500)}

    assert len(pauses) > 35  # of 41 whole seconds from 80 to 120
    assert min(pauses) < 84
    assert max(pauses) > 116


def test_another_process_pauses_alike() -> None:
    identity = str(uuid4())
    program = (
        "from delivery.timing import backoff_s\n"
        f"print(*[backoff_s({identity!r}, n, {SCHEDULE}) for n in range(1, 7)])"
    )
    ours = [backoff_s(identity, n, SCHEDULE) for n in range(1, 7)]

    run = [sys.executable, "-c", program]
    said = subprocess.run(run, cwd=settings.BASE_DIR, capture_output=True, text=True, check=True)

    assert [float(one) for one in said.stdout.split()] == ours


def test_a_delivery_is_due_again_after_its_own_pause_in_every_process(desk: Desk) -> None:
    make_channel(retry_schedule=[100, 1000])
    everybody = [f"tg:{n}" for n in range(6)]
    for destination in everybody:
        desk.script(destination, NotSentError("no route"), NotSentError("no route"))
    record(everybody)

    sweep(6)
    first = [(row, row.attempts.get().closed_at) for row in deliveries()]
    pass_s(121)
    sweep(6)  # another worker
    second = [(row, row.attempts.get(number=2).closed_at) for row in deliveries()]

    for number, rows in ((1, first), (2, second)):
        for row, closed in rows:
            assert row.next_attempt_at is not None
            assert closed is not None
            pause = (row.next_attempt_at - closed).total_seconds()
            assert pause == pytest.approx(
                backoff_s(str(row.delivery_id), number, [100, 1000]), abs=1e-3
            )


def test_a_retry_under_the_same_key_is_clipped_to_the_keys_window_and_then_not_made(
    recipient: Simulator,
) -> None:
    rooms(
        recipient,
        settings={"dedupe_window_s": DAY, "scan": False, "look_up_by_key": False}
        | {"look_up_by_id": False},
        retry_schedule=[30 * HOUR],
        margin_s=30 * MINUTE,
        deadline_s=10,
        lease_s=HOUR,
    )
    recipient.behave("room:a", "accept_and_reset")
    record(["room:a"])

    sweep()
    row = delivery("room:a")
    clipped = row.next_attempt_at
    pass_s(DAY - 30 * MINUTE - 10)
    sweep()

    assert row.key_first_used_at is not None
    assert clipped == row.key_first_used_at + timedelta(seconds=DAY - 30 * MINUTE - 10)
    after = delivery("room:a")
    assert (after.status, after.cause.partition(":")[0]) == ("unknown", "blocked")
    assert after.next_attempt_at is None
    assert outcomes("room:a") == ["ambiguous"]
    assert recipient.effects("room:a") == 1


@pytest.mark.parametrize("left", [1, -1], ids=["one second left", "one second too late"])
def test_the_same_key_is_used_again_only_while_a_whole_call_fits_into_the_window(
    recipient: Simulator, left: int
) -> None:
    nothing = {"scan": False, "look_up_by_key": False, "look_up_by_id": False}
    rooms(recipient, settings={"dedupe_window_s": DAY} | nothing, retry_schedule=[HOUR])
    recipient.behave("room:a", "accept_and_reset", dedupe_s=DAY)
    record(["room:a"])
    sweep()

    pass_s(DAY - 5 - 1 - left)  # less the call's deadline and the margin
    sweep()

    row = delivery("room:a")
    assert recipient.effects("room:a") == 1
    assert row.status == ("delivered" if left > 0 else "unknown")
    assert len(outcomes("room:a")) == (2 if left > 0 else 1)
