"""What the tables themselves refuse: a status without the columns that belong to it."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from ledgers.clock import ClockTimestamp
from ledgers.models import Attempt, Delivery, Installation, Message, Run, Step
from ledgers.states import DeliveryStatus as S
from tests.factories import make_channel
from tests.ledgers.rows import begin, row_in

pytestmark = pytest.mark.django_db

NOW = ClockTimestamp()
DELIVERY: list[tuple[str, S, dict[str, Any]]] = [
    ("delivery_counts_from_one", S.PENDING, {"row_version": 0}),
    ("delivery_unknown_since_iff_unknown", S.PENDING, {"unknown_since": NOW}),
    ("delivery_unknown_since_iff_unknown", S.UNKNOWN, {"unknown_since": None}),
    ("delivery_finished_iff_terminal", S.PENDING, {"finished_at": NOW}),
    ("delivery_finished_iff_terminal", S.FAILED, {"finished_at": None}),
    ("delivery_finished_iff_terminal", S.DELIVERED, {"next_attempt_at": NOW}),
    ("delivery_acknowledged_iff_delivered", S.PENDING, {"acknowledged_at": NOW}),
    ("delivery_acknowledged_iff_delivered", S.DELIVERED, {"acknowledged_at": None}),
    ("delivery_submitting_has_attempt", S.PENDING, {"status": "submitting"}),
    ("delivery_cancelled_is_withdrawn", S.CANCELLED, {"withdrawn_at": None}),
    ("delivery_key_used_iff_attempted", S.PENDING, {"key_first_used_at": NOW}),
    ("delivery_key_used_iff_attempted", S.DELIVERED, {"key_first_used_at": None}),
    ("delivery_decision_is_dated", S.UNKNOWN, {"decision": "leave"}),
    ("delivery_decision_is_dated", S.UNKNOWN, {"decision": "guess", "decided_at": NOW}),
]


@pytest.fixture(autouse=True)
def alerts() -> None:
    make_channel()


@pytest.mark.parametrize(("constraint", "status", "columns"), DELIVERY)
def test_a_delivery_is_refused_whose_columns_contradict_its_status(
    constraint: str, status: S, columns: dict[str, Any]
) -> None:
    row = row_in(status)

    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        Delivery.objects.filter(pk=row.pk).update(**columns)


def test_every_constraint_of_a_delivery_is_among_those_tested() -> None:
    tested = {constraint for constraint, _, _ in DELIVERY} | {"delivery_identity"}

    assert {constraint.name for constraint in Delivery._meta.constraints} == tested


def test_a_destination_has_one_row_per_part_and_generation() -> None:
    row = row_in(S.PENDING)
    copy = Delivery.objects.get(pk=row.pk)
    copy.pk, copy.delivery_id = None, Installation.objects.get().namespace

    with pytest.raises(IntegrityError, match="delivery_identity"), transaction.atomic():
        copy.save(force_insert=True)


def test_an_attempt_is_closed_if_and_only_if_it_has_an_outcome() -> None:
    attempt = begin(row_in(S.PENDING))

    for columns in ({"outcome": "accepted"}, {"closed_at": NOW}):
        with pytest.raises(IntegrityError, match="attempt_closed_iff"), transaction.atomic():
            Attempt.objects.filter(pk=attempt.pk).update(**columns)


def test_a_step_and_a_run_are_refused_whose_columns_contradict_their_status() -> None:
    run = Run.objects.create(run_id="run-9", agent="tester")
    step = Step.objects.create(run=run, step_id="s", input_hash="0", lease_until=NOW)

    with pytest.raises(IntegrityError, match="run_finished_iff_ended"), transaction.atomic():
        Run.objects.filter(pk=run.pk).update(status="completed")
    with pytest.raises(IntegrityError, match="step_lease_iff_running"), transaction.atomic():
        Step.objects.filter(pk=step.pk).update(lease_until=None)
    with pytest.raises(IntegrityError, match="step_result_iff_completed"), transaction.atomic():
        Step.objects.filter(pk=step.pk).update(
            status="completed", lease_until=None, finished_at=NOW
        )
    with pytest.raises(IntegrityError, match="step_result_iff_completed"), transaction.atomic():
        Step.objects.filter(pk=step.pk).update(result_hash="0")


def test_a_step_has_one_row_per_version_and_a_message_one_per_channel() -> None:
    message = row_in(S.PENDING).message
    step = message.step

    with pytest.raises(IntegrityError, match="step_identity"), transaction.atomic():
        Step.objects.create(
            run=step.run, step_id=step.step_id, version=1, input_hash="0", lease_until=NOW
        )
    with pytest.raises(IntegrityError, match="message_identity"), transaction.atomic():
        Message.objects.create(
            step=step, name=message.name, channel=message.channel, contract={}, payload_hash="0",
            destinations=1,
        )  # fmt: skip


def test_an_event_explains_each_version_of_a_delivery_once() -> None:
    row = row_in(S.PENDING)

    with pytest.raises(IntegrityError, match="event_explains_status"), transaction.atomic():
        row.events.create(kind="expire", actor="tester", row_version=1)


def test_there_is_one_installation() -> None:
    with pytest.raises(IntegrityError, match="installation_is_one_row"), transaction.atomic():
        Installation.objects.create(id=2, recognizer_secret=b"x")
