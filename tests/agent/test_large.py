"""Ten thousand destinations in one call, in memory that does not grow with them."""

import tracemalloc

import pytest
from django.db import connection

from delivery import agent
from ledgers.models import Delivery, OutboxItem
from tests.factories import make_channel, message

pytestmark = pytest.mark.django_db

LINES = "".join(f"line {n} of a long report\n" for n in range(400))  # about 10 kB


def peak_of_recording(count: int, run_id: str) -> int:
    """Bytes that Python needed at most, above what the roster itself takes."""
    with agent.run(run_id, agent="tester") as run:
        step = run.step("write")
        messages = [message([f"tg:{n:06}" for n in range(count)], LINES)]
        tracemalloc.start()
        step.complete(None, messages)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak


def test_ten_thousand_destinations_are_recorded_in_flat_memory() -> None:
    make_channel()
    peak_of_recording(10, "warm")

    few, many = peak_of_recording(1000, "few"), peak_of_recording(10_000, "many")

    assert Delivery.objects.filter(message__step__run__run_id="many").count() == 10_000
    assert OutboxItem.objects.count() == 11_010
    # Names and what tells them apart grow (0.2 kB each); bodies of 10 kB and rows do not.
    assert many - few < 9000 * 200
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # what verifies it next was planned for the few rows of others
