"""Seals: nothing is left out of them, nothing can be changed behind them, and one at a time."""

from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from ledgers import sealcheck, seals, verify
from ledgers.models import Attempt, Event, Evidence, Seal, Unsealed
from ledgers.states import DeliveryStatus as S
from tests.factories import make_channel, record
from tests.ledgers.connections import other_thread, second_connection
from tests.ledgers.rows import begin, close, row_in

INSERT = (
    "INSERT INTO ledgers_event (at, kind, from_status, to_status, rule, inputs, actor, detail)"
    " VALUES (clock_timestamp(), 'note', '', '', '', '', 'tester', '{}') RETURNING id"
)


@pytest.fixture(autouse=True)
def alerts(request: pytest.FixtureRequest) -> None:
    request.getfixturevalue("_django_db_helper")
    make_channel()


def lifted(sql: str, *parameters: Any) -> None:
    """Do it as a superuser can who lifts the triggers."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(sql, parameters)
        assert cursor.rowcount == 1
        cursor.execute("SET LOCAL session_replication_role = origin")


def broken() -> dict[str, tuple[str, ...]]:
    return {verdict.name: verdict.offenders for verdict in verify.broken(verify.verify())}


def sealed_events() -> list[int]:
    return sorted(number for seal in Seal.objects.all() for number in seal.events)


@pytest.mark.django_db
def test_every_event_closed_attempt_and_finding_is_sealed_once() -> None:
    row_in(S.DELIVERED)
    begin(record(run_id="run-2")[0])  # open: not final yet

    total = seals.seal_all(batch=4)

    closed = Attempt.objects.exclude(closed_at=None).count()
    assert total == Event.objects.count() + closed + Evidence.objects.count()
    assert sealed_events() == sorted(Event.objects.values_list("pk", flat=True))
    assert [seal.number for seal in Seal.objects.all()] == [1, 2, 3, 4]
    assert not Unsealed.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_event_that_drew_its_number_early_and_commits_late_is_sealed() -> None:
    """The trace that breaks "seal all events up to the highest number":

    1. transaction A inserts event 101, and does not commit;
    2. transaction B inserts event 102 and commits;
    3. the sealer sees 102, seals "up to 102", and goes on from there;
    4. A commits. Event 101 is in no seal for ever, and nobody would miss it.
    """
    with second_connection() as late:
        early = (late.execute(INSERT).fetchone() or [0])[0]
        with connection.cursor() as cursor:
            cursor.execute(INSERT)
            later = cursor.fetchone()[0]
        assert early < later

        seals.seal_all()
        assert (later in sealed_events(), early in sealed_events()) == (True, False)
        late.commit()
    seals.seal_all()

    assert early in Seal.objects.get(number=2).events


@pytest.mark.django_db(transaction=True)
def test_what_is_rolled_back_waits_for_no_seal() -> None:
    with second_connection() as other:
        other.execute(INSERT)
        other.rollback()

    assert seals.seal_all() == 0


@pytest.mark.django_db(transaction=True)
def test_two_sealers_at_once_make_one_chain() -> None:
    record([f"tg:{n}" for n in range(20)])
    with transaction.atomic(), other_thread() as thread:
        first = seals.seal(batch=8)

        assert thread.submit(seals.seal).result() == 0  # it does not wait, and does not seal

    assert first == 8
    assert seals.seal_all() > 0
    assert len(sealed_events()) == len(set(sealed_events())) == Event.objects.count()


@pytest.mark.django_db(transaction=True)
def test_a_sealer_that_dies_before_its_commit_leaves_nothing_half() -> None:
    record()

    def seal_and_die() -> None:
        with transaction.atomic():
            seals.seal()
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    with other_thread() as thread, pytest.raises(DatabaseError):
        thread.submit(seal_and_die).result()

    assert not Seal.objects.exists()
    assert seals.seal_all() == Event.objects.count()


@pytest.mark.django_db
@pytest.mark.unverified_ledgers
@pytest.mark.parametrize(
    ("table", "assignment"),
    [
        ("event", "actor = 'somebody else'"),
        ("event", "at = at - interval '1 microsecond'"),
        ("event", "inputs = inputs || ' '"),
        ("event", """detail = '{"a": 1}'"""),
        ("event", "rule = 'due'"),
        ("event", "attempt_id = NULL"),
        ("attempt", "outcome = 'accepted'"),
        ("attempt", "response = 'ok'"),
        ("attempt", "authority = '{}'"),
        ("attempt", "bytes_written = 11"),
        ("evidence", "verdict = 'found'"),
        ("evidence", "seen_by = 'nobody'"),
    ],
)
def test_an_edit_by_who_lifts_the_triggers_is_named(table: str, assignment: str) -> None:
    attempt = begin(record()[0])
    close(attempt, "ambiguous")
    add_finding(attempt.delivery_id)
    seals.seal_all()
    number = {
        "event": Event.objects.get(kind="begin").pk,
        "attempt": attempt.pk,
        "evidence": Evidence.objects.get().pk,
    }[table]

    lifted(f"UPDATE ledgers_{table} SET {assignment} WHERE id = %s", number)

    said = broken()["sealed-rows-are-unchanged"]
    assert said == (f"{table} {number} was changed after seal 1",)


def add_finding(delivery: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO ledgers_evidence (delivery_id, taken_at, method, verdict, searched, why,"
            " pages, provider_message_id, response, seen_by) VALUES (%s, clock_timestamp(),"
            " 'operator', 'inconclusive', '', '', 0, '', '', 'ada')",
            [delivery],
        )


@pytest.mark.django_db
@pytest.mark.unverified_ledgers
@pytest.mark.parametrize(
    "assignment",
    ["destination = 'tg:9'", "body_hash = 'x'", "recognizer = 'dlvx'", "generation = 2"],
)
def test_an_edit_of_what_a_delivery_is_changes_the_event_that_recorded_it(assignment: str) -> None:
    record()
    seals.seal_all()

    lifted(f"UPDATE ledgers_delivery SET {assignment}")

    recorded = Event.objects.get(kind="record").pk
    assert f"event {recorded} was changed after seal 1" in broken()["sealed-rows-are-unchanged"]


@pytest.mark.django_db
@pytest.mark.unverified_ledgers
def test_an_edit_of_a_result_with_its_hash_changes_the_event_that_completed_the_step() -> None:
    record()
    seals.seal_all()

    lifted("UPDATE ledgers_step SET result = '1', result_hash = encode(sha256('1'), 'hex')")

    done = Event.objects.get(kind="complete_step").pk
    assert broken() == {"sealed-rows-are-unchanged": (f"event {done} was changed after seal 1",)}


@pytest.mark.django_db
@pytest.mark.unverified_ledgers
def test_a_removed_event_and_an_inserted_one_are_named() -> None:
    record()
    seals.seal_all()
    gone = Event.objects.get(kind="open_run").pk

    lifted("DELETE FROM ledgers_event WHERE id = %s", gone)
    lifted(INSERT)

    found = broken()
    made = Event.objects.get(kind="note").pk
    assert found["sealed-rows-are-unchanged"] == (f"event {gone} is gone, and seal 1 has it",)
    assert found["every-row-is-sealed-once"] == (f"event {made} is in no seal and waits for none",)


@pytest.mark.django_db
@pytest.mark.unverified_ledgers
@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("leaves = overlay(leaves placing '\\x00' from 1)", "root does not follow"),
        ("leaves = substring(leaves from 33)", "leaves for"),
        ("root = previous", "root does not follow"),
        ("sealed_at = sealed_at + interval '1 second'", "hash does not follow"),
        ("hash = root", "hash does not follow"),
        ("previous = root", "does not follow from the seal before"),
    ],
)
def test_an_edit_of_a_seal_is_named(assignment: str, said: str) -> None:
    record()
    seals.seal_all(batch=2)

    lifted(f"UPDATE ledgers_seal SET {assignment} WHERE number = 2")

    assert any(said in offender for offender in broken()["seals-are-a-chain"])
    assert "seal 2" in broken()["seals-are-a-chain"][0]


@pytest.mark.django_db
@pytest.mark.unverified_ledgers
def test_a_chain_that_a_superuser_rebuilt_is_shown_by_an_anchor_kept_elsewhere_only() -> None:
    record()
    seals.seal_all()
    anchor = seals.newest()
    assert anchor is not None

    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("UPDATE ledgers_event SET actor = 'nobody' WHERE kind = 'open_run'")
        cursor.execute("DELETE FROM ledgers_seal")
        cursor.execute("INSERT INTO ledgers_unsealed SELECT 'event', id FROM ledgers_event")
        cursor.execute("SET LOCAL session_replication_role = origin")
    seals.seal_all()

    assert broken() == {}
    assert not sealcheck.holds_anchor(anchor)


@pytest.mark.django_db
def test_an_anchor_holds_while_the_chain_grows() -> None:
    record()
    seals.seal_all()
    anchor = seals.newest()
    record(run_id="run-2")
    seals.seal_all()

    assert anchor is not None
    assert sealcheck.holds_anchor(anchor)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "statement", ["DELETE FROM ledgers_seal", "UPDATE ledgers_seal SET root = hash"]
)
def test_a_seal_is_not_changed(statement: str) -> None:
    record()
    seals.seal_all()

    with (
        pytest.raises(IntegrityError, match="seals are append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


@pytest.mark.django_db
def test_the_text_of_a_row_does_not_depend_on_the_session() -> None:
    row_in(S.DELIVERED)
    before = _leaves()
    odd = {"timezone": "Asia/Kathmandu", "extra_float_digits": "-3", "datestyle": "German"}

    with connection.cursor() as cursor:
        for name, value in odd.items():
            cursor.execute("SELECT set_config(%s, %s, true)", [name, value])
        after = _leaves()
        for name in odd:
            cursor.execute(f"RESET {name}")

    assert after == before


def _leaves() -> list[dict[int, bytes]]:
    return [
        sealcheck.present_leaves(kind, list(model.objects.values_list("pk", flat=True)))
        for kind, model in (("event", Event), ("attempt", Attempt), ("evidence", Evidence))
    ]


@pytest.mark.django_db
def test_a_seal_is_due_when_a_batch_waits_or_a_minute_has_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nothing = seals.is_due()
    record()
    first = seals.is_due()
    seals.seal_all()
    record(run_id="run-2")

    soon = seals.is_due()
    monkeypatch.setattr(seals, "BATCH", 2)
    many = seals.is_due()
    monkeypatch.undo()
    monkeypatch.setattr(seals, "EVERY", seals.EVERY * 0)

    assert (nothing, first, soon, many, seals.is_due()) == (False, True, False, True, True)
