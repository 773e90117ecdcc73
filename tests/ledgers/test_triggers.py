"""What the database refuses whoever asks: the record of what happened cannot be rewritten."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from ledgers import evidence
from ledgers.canonical import sha256
from ledgers.clock import database_now
from ledgers.evidence import Sighting
from ledgers.models import (
    Attempt,
    Channel,
    Delivery,
    Event,
    Evidence,
    Installation,
    Message,
    Run,
    Step,
)
from ledgers.states import DeliveryStatus as S
from tests.factories import make_channel
from tests.ledgers.rows import begin, close, row_in

pytestmark = pytest.mark.django_db

RECORD = (Event, Evidence, Attempt, Delivery, Message, Step, Run, Installation)


@pytest.fixture(autouse=True)
def alerts() -> Channel:
    return make_channel()


@pytest.fixture
def row() -> Delivery:
    """A delivery with a closed attempt and a finding."""
    delivery = row_in(S.DELIVERED)
    evidence.add_sightings([
        Sighting(delivery.pk, database_now(), "receipt", "found", "", "", None, 0, "", "", "tester")
    ])  # fmt: skip
    return delivery


@contextmanager
def refused(words: str) -> Iterator[None]:
    with pytest.raises(IntegrityError, match=words), transaction.atomic():
        yield


def execute(sql: str, *parameters: str | int) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchone() if cursor.description else None


@pytest.mark.parametrize("model", RECORD)
def test_no_row_of_the_record_is_deleted(model: type[Event], row: Delivery) -> None:
    table = model._meta.db_table
    assert model.objects.exists()

    with refused(f"DELETE on {table} is refused"):
        execute(f"DELETE FROM {table}")


@pytest.mark.parametrize(
    ("table", "assignment", "words"),
    [
        ("event", "actor = 'me'", "append-only"),
        ("evidence", "verdict = 'absent'", "append-only"),
        ("attempt", "outcome = 'not_sent'", "its own evidence"),
        ("attempt", "error = 'x'", "its own evidence"),
        ("delivery", "delivery_id = gen_random_uuid()", "identity of a delivery is frozen"),
        ("delivery", "destination = 'tg:2'", "identity of a delivery is frozen"),
        ("delivery", "part = 2", "identity of a delivery is frozen"),
        ("delivery", "generation = 2", "identity of a delivery is frozen"),
        ("delivery", "body_hash = ''", "identity of a delivery is frozen"),
        ("delivery", "idempotency_key = 'k'", "identity of a delivery is frozen"),
        ("delivery", "recognizer = 'r'", "identity of a delivery is frozen"),
        ("message", "payload = '\"other\"'", "frozen when it is recorded"),
        ("message", "payload = NULL", "frozen when it is recorded"),
        ("message", "payload_hash = ''", "frozen when it is recorded"),
        ("message", "contract = '{}'", "frozen when it is recorded"),
        ("message", "name = 'other'", "frozen when it is recorded"),
        ("message", "not_after = now()", "frozen when it is recorded"),
        ("step", "result = '2'", "first committed result stands"),
        ("step", "result_hash = 'x'", "first committed result stands"),
        ("step", "step_id = 'other'", "first committed result stands"),
        ("step", "announces = '[\"more\"]'", "first committed result stands"),
        ("step", "status = 'running', lease_until = now()", "first committed result stands"),
        ("run", "run_id = 'other'", "name of a run is part of identities"),
        ("installation", "namespace = gen_random_uuid()", "every identity is derived"),
        ("installation", "recognizer_secret = 'x'", "every identity is derived"),
    ],
)
def test_what_was_recorded_is_not_changed(
    row: Delivery, table: str, assignment: str, words: str
) -> None:
    with refused(words):
        execute(f"UPDATE ledgers_{table} SET {assignment}")


@pytest.mark.parametrize(
    "assignment", ["fence = 1", "authority = '{}'", "opened_at = now()", "lease_until = now()"]
)
def test_what_was_written_ahead_is_frozen_while_the_attempt_is_open(assignment: str) -> None:
    begin(row_in(S.PENDING))

    with refused("written ahead is frozen"):
        execute(f"UPDATE ledgers_attempt SET {assignment}")


def test_an_open_attempt_is_closed_once_and_the_second_answer_is_dropped() -> None:
    attempt = begin(row_in(S.PENDING))

    close(attempt, "ambiguous")
    again = evidence.close_attempts([
        evidence.Closing(attempt.pk, "accepted", "status", 10)
    ])  # fmt: skip

    attempt.refresh_from_db()
    assert (attempt.outcome, again) == ("ambiguous", set())


def test_the_slug_of_a_used_channel_cannot_change_and_that_of_an_unused_one_can() -> None:
    unused = make_channel("unused")
    used = row_in(S.PENDING).message.channel

    Channel.objects.filter(pk=unused.pk).update(slug="renamed")
    with refused("slug of channel alerts is part of identities"):
        Channel.objects.filter(pk=used.pk).update(slug="other")

    assert Channel.objects.filter(slug="renamed").exists()


@pytest.mark.parametrize("model", RECORD)
def test_truncate_is_refused_even_if_the_session_sets_the_setting_itself(
    model: type[Event],
) -> None:
    name = connection.settings_dict["NAME"]
    execute(f'ALTER DATABASE "{name}" RESET counterfoil.allow_truncate')  # until the roll-back
    execute("SET LOCAL counterfoil.allow_truncate = 'on'")

    with refused("it is the audit record"):
        execute(f"TRUNCATE {model._meta.db_table} CASCADE")


def test_truncating_the_channels_does_not_reach_the_record_through_the_back_door() -> None:
    name = connection.settings_dict["NAME"]
    execute(f'ALTER DATABASE "{name}" RESET counterfoil.allow_truncate')
    execute("SET CONSTRAINTS ALL IMMEDIATE")  # no check of a foreign key is pending any more

    with refused("it is the audit record"):
        execute("TRUNCATE ledgers_channel CASCADE")


def test_erasing_a_payload_keeps_its_hash_and_writes_who_and_why(row: Delivery) -> None:
    message = row.message
    kept = message.payload_hash

    (erased,) = execute("SELECT ledgers_erase_payload(%s, %s, %s)", message.pk, "ada", "asked for")

    message.refresh_from_db()
    event = Event.objects.get(kind="erase_payload")
    assert erased
    assert (message.payload, message.payload_hash) == (None, kept)
    assert (event.actor, event.detail["reason"]) == ("ada", "asked for")
    assert event.detail["payload_hash"] == kept == sha256('"hello"')


def test_erasing_twice_writes_one_event(row: Delivery) -> None:
    answers = [
        execute("SELECT ledgers_erase_payload(%s, 'ada', '')", row.message_id) for _ in range(2)
    ]

    assert answers == [(True,), (False,)]
    assert Event.objects.filter(kind="erase_payload").count() == 1


def test_erasing_by_hand_is_in_the_trail_as_well(row: Delivery) -> None:
    execute("SELECT set_config('counterfoil.erasing', %s::text, true)", row.message_id)

    execute("UPDATE ledgers_message SET payload = NULL WHERE id = %s RETURNING id", row.message_id)

    event = Event.objects.get(kind="erase_payload")
    assert (event.actor,) == execute("SELECT session_user::text")
    assert event.detail["payload_hash"] == row.message.payload_hash


def test_erasing_by_hand_what_is_still_needed_is_refused() -> None:
    row = row_in(S.UNKNOWN)
    execute("SELECT set_config('counterfoil.erasing', %s::text, true)", row.message_id)

    with refused("still has open deliveries"):
        execute(
            "UPDATE ledgers_message SET payload = NULL WHERE id = %s RETURNING id", row.message_id
        )


@pytest.mark.parametrize("status", [S.PENDING, S.SUBMITTING, S.UNKNOWN])
def test_a_payload_that_is_still_needed_is_not_erased(status: S) -> None:
    row = row_in(status)

    with refused("still has open deliveries"):
        execute("SELECT ledgers_erase_payload(%s, 'ada', '')", row.message_id)


def test_the_namespace_was_made_by_the_first_migration() -> None:
    installation = Installation.objects.get()

    assert installation.namespace.version == uuid.uuid4().version
    assert len(bytes(installation.recognizer_secret)) == 32
