"""Each invariant finds what breaks it. A query that never finds anything would hold as well."""

import pytest
from django.db import connection, transaction

from ledgers import seals, verify
from ledgers.invariants import INVARIANTS
from ledgers.models import Delivery
from ledgers.states import DeliveryStatus as S
from tests.factories import make_channel, record
from tests.ledgers.rows import row_in
from tests.ledgers.steps import make_run

pytestmark = [pytest.mark.django_db, pytest.mark.unverified_ledgers]

COPY_ATTEMPT = """
INSERT INTO ledgers_attempt
SELECT (jsonb_populate_record(a, '{"id": 0, "number": 9}')).* FROM ledgers_attempt a"""
BREAKING: dict[str, tuple[S, str]] = {
    "one-identity-per-destination": (S.PENDING, "UPDATE ledgers_message SET parts = 2"),
    "messages-belong-to-completed-steps": (
        S.PENDING,
        "UPDATE ledgers_step SET status = 'failed', result_hash = ''",
    ),
    "rosters-are-whole": (S.PENDING, "UPDATE ledgers_message SET destinations = 2"),
    "identities-are-derived": (S.PENDING, "UPDATE ledgers_run SET run_id = 'another'"),
    "keys-are-unique": (S.PENDING, "UPDATE ledgers_delivery SET recognizer = 'dlv'"),
    "same-key-same-bytes": (S.SUBMITTING, "UPDATE ledgers_attempt SET body_hash = 'other'"),
    "contents-match-their-hashes": (S.PENDING, "UPDATE ledgers_message SET payload = '1'"),
    "erasures-are-in-the-trail": (S.DELIVERED, "UPDATE ledgers_message SET payload = NULL"),
    "windows-count-from-the-first-attempt": (
        S.SUBMITTING,
        "UPDATE ledgers_delivery SET key_first_used_at = key_first_used_at + interval '1 year'",
    ),
    "attempts-are-counted": (S.SUBMITTING, "UPDATE ledgers_attempt SET number = 2"),
    "accepted-is-never-not-sent": (
        S.FAILED,
        "UPDATE ledgers_attempt SET outcome = 'accepted'",
    ),
    "doubt-is-never-not-sent": (S.FAILED, "UPDATE ledgers_attempt SET outcome = 'ambiguous'"),
    "delivered-is-proven": (S.DELIVERED, "UPDATE ledgers_attempt SET outcome = 'ambiguous'"),
    "queue-and-ledger-agree": (S.PENDING, "DELETE FROM ledgers_outboxitem"),
    "every-status-has-its-event": (
        S.SUBMITTING,
        "UPDATE ledgers_event SET to_status = 'unknown' WHERE kind = 'begin'",
    ),
    "moves-are-in-the-table": (
        S.SUBMITTING,
        "UPDATE ledgers_event SET from_status = 'failed' WHERE kind = 'begin'",
    ),
    "moves-follow-each-other": (
        S.SUBMITTING,
        "UPDATE ledgers_event SET from_status = 'unknown' WHERE kind = 'begin'",
    ),
    "attempts-had-authority": (S.SUBMITTING, "UPDATE ledgers_attempt SET authority = '{}'"),
    "one-open-attempt": (
        S.SUBMITTING,
        COPY_ATTEMPT,
    ),
    "rewound-is-explained": (S.PENDING, "UPDATE ledgers_delivery SET rewound_at = now()"),
    "a-restored-ledger-is-not-taken-at-its-word": (
        S.PENDING,
        "UPDATE ledgers_installation SET restored_at = now(), held_at = now()",
    ),
    "epochs-are-found-restores": (S.PENDING, "UPDATE ledgers_installation SET epoch = 2"),
    "completed-runs-are-complete": (
        S.PENDING,
        "UPDATE ledgers_step SET status = 'failed', result_hash = ''",
    ),
    "seals-are-a-chain": (S.PENDING, "UPDATE ledgers_seal SET number = 2"),
    "sealed-rows-are-unchanged": (S.PENDING, "UPDATE ledgers_event SET actor = 'nobody'"),
    "purges-have-their-receipts": (
        S.PENDING,
        """INSERT INTO ledgers_purge (at, actor, reason, policy_s, runs, events, attempts, evidence)
        VALUES (now(), '', '', 0, '{}', '{}', '{}', '{}')""",
    ),
    "events-are-about-what-is-there": (S.SUBMITTING, "DELETE FROM ledgers_attempt"),
    "every-row-is-sealed-once": (S.PENDING, "DELETE FROM ledgers_unsealed"),
}


@pytest.fixture(autouse=True)
def alerts() -> None:
    make_channel()


def broken() -> set[str]:
    return {verdict.name for verdict in verify.broken(verify.verify())}


def execute(sql: str) -> None:
    """Do it behind the triggers' back, as a superuser can."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(sql)
        assert cursor.rowcount > 0
        cursor.execute("SET LOCAL session_replication_role = origin")


@pytest.mark.parametrize("status", list(S))
def test_what_the_moves_make_breaks_nothing(status: S) -> None:
    row_in(status)

    assert broken() == set()


@pytest.mark.parametrize(("name", "breaking"), BREAKING.items(), ids=BREAKING)
def test_each_invariant_finds_what_breaks_it(name: str, breaking: tuple[S, str]) -> None:
    status, sql = breaking
    row_in(status, "run-1")
    if name == "keys-are-unique":
        record(run_id="run-2")
    if name != "every-row-is-sealed-once":
        seals.seal_all()
    assert name not in broken()

    execute(sql)

    assert name in broken()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("delivery_id = gen_random_uuid()", "identity, would be"),
        ("idempotency_key = gen_random_uuid()", "key, would be"),
        ("recognizer = 'dlv' || md5(recognizer)", "recognizer"),
        ("destination = 'tg:1002'", "identity, would be"),
        ("generation = 2", "identity, would be"),
    ],
)
def test_what_was_derived_otherwise_is_named_with_what_is_wrong(change: str, said: str) -> None:
    row_in(S.DELIVERED)

    execute(f"UPDATE ledgers_delivery SET {change}")

    (verdict,) = (v for v in verify.verify() if v.name == "identities-are-derived")
    assert said in verdict.offenders[0]
    assert verdict.count == 1


def test_a_form_of_key_that_nobody_knows_is_named() -> None:
    row_in(S.PENDING)

    execute("UPDATE ledgers_message SET contract = jsonb_set(contract, '{key,form}', '\"rune\"')")

    (verdict,) = (v for v in verify.verify() if v.name == "identities-are-derived")
    assert "of form 'rune'" in verdict.offenders[0]


def test_a_delivery_that_was_removed_with_all_its_traces_is_missed() -> None:
    _, gone = record(["tg:1", "tg:2"])

    for table in ("event", "outboxitem"):
        execute(f"DELETE FROM ledgers_{table} WHERE delivery_id = {gone.pk}")
    execute("DELETE FROM ledgers_delivery WHERE destination = 'tg:2'")
    execute("DELETE FROM ledgers_unsealed WHERE row_id NOT IN (SELECT id FROM ledgers_event)")

    assert broken() == {"rosters-are-whole"}


def test_every_invariant_is_among_those_that_are_broken_here() -> None:
    assert {invariant.name for invariant in INVARIANTS} == set(BREAKING)


def test_a_verdict_names_the_first_offenders_and_counts_all() -> None:
    rows = record([f"tg:{n}" for n in range(30)])
    execute("DELETE FROM ledgers_outboxitem")

    (verdict,) = verify.broken(verify.verify())

    assert (verdict.name, verdict.count) == ("queue-and-ledger-agree", 30)
    assert len(verdict.offenders) == verify.SHOWN
    assert verdict.offenders[0].split()[0] in {str(row.delivery_id) for row in rows}
    assert not verdict.holds


def test_an_empty_ledger_holds_and_so_does_an_open_run() -> None:
    empty = broken()
    make_run()

    assert empty == broken() == set()
    assert not Delivery.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_verifying_only_reads() -> None:
    record()

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        verdicts = verify.verify()

    assert not verify.broken(verdicts)
