"""`manage.py purge` looks first; what goes takes along what hangs on it, and nothing else."""

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from delivery import retention
from delivery.models import Receipt
from ledgers.models import Delivery, Event, Run
from ledgers.states import DeliveryStatus as S
from reviews.models import Assignment, DecidedRow, Decision
from tests.commands.shell import typed
from tests.factories import make_channel, record
from tests.ledgers.old import age, old_run

pytestmark = pytest.mark.django_db
PURGE = ("purge", "--execute", "--reason", "the year is over")


@pytest.fixture(autouse=True)
def policy(settings: Any) -> Any:
    settings.COUNTERFOIL_RETENTION_DAYS = 30
    return make_channel()


def report(channel: Any, delivery: Delivery | None = None, days: int = 40) -> Receipt:
    made = Receipt.objects.create(
        channel=channel, receipt_id=f"r{Receipt.objects.count()}", kind="bounced",
        raw="to ada@example.test", delivery=delivery,
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE delivery_receipt SET received_at = received_at - make_interval(days => %s)"
            " WHERE id = %s",
            [days, made.pk],
        )
    return made


def test_it_only_looks_unless_it_is_told_to() -> None:
    old_run("R-1")
    old_run("R-2", S.UNKNOWN)

    said = typed("purge")

    assert said.code == 0
    assert Run.objects.count() == 2
    for words in ("1 would go", "R-2", "is unknown", "Nothing was removed. Add --execute"):
        assert words in said.out


def test_it_removes_and_tells_what() -> None:
    old_run("R-1")
    old_run("R-2", S.UNKNOWN)

    said = typed(*PURGE, "--json").json

    assert (said["runs"], said["deliveries"], said["kept_runs"], said["whole"]) == (1, 1, 1, True)
    assert Event.objects.get(kind="purge").detail["receipt"] == said["receipts"][0]
    assert list(Run.objects.values_list("run_id", flat=True)) == ["R-2"]


def test_it_seals_first_what_waits() -> None:
    old_run("R-1", sealed=False)

    typed(*PURGE)

    assert not Run.objects.exists()


def test_a_limit_is_kept_and_said() -> None:
    for n in range(3):
        old_run(f"R-{n}")

    said = typed(*PURGE, "--limit", "2")

    assert Run.objects.count() == 1
    assert "There is more: the limit was reached." in said.out


def test_without_a_reason_nothing_is_removed() -> None:
    old_run()

    said = typed("purge", "--execute", "--reason", "  ")

    assert (said.code, "reason: is empty" in said.err) == (2, True)
    assert Run.objects.exists()


def test_501_deliveries_go_together_and_undecided_ones_of_their_run_keep_all() -> None:
    """Delivered rows were pruned, at most 500 at a time, inside an insert: the field case."""
    record([f"tg:{n}" for n in range(501)], run_id="R-many")
    age("R-many", 40)

    plan = retention.plan()

    assert (plan.runs, plan.kept_runs) == (0, 1)
    assert Delivery.objects.count() == 501


def test_reports_go_with_their_delivery_and_by_their_age_where_nobody_knows_whose_they_are(
    policy: Any,
) -> None:
    old_run("R-1")
    report(policy, Delivery.objects.get())
    report(policy)
    young = report(policy, days=1)

    said = typed(*PURGE, "--json").json

    assert said["unmatched_reports"] == 1
    assert list(Receipt.objects.values_list("pk", flat=True)) == [young.pk]
    assert Event.objects.get(kind="purge_reports").detail["reports"] == 1


def decided(row: Delivery, stage: str) -> Decision:
    """A decision about this row, as pages and commands leave it."""
    made = Decision.objects.create(
        kind="leave", gate="one", reason="no", requested_by="ada",
        expires_at=row.created_at.replace(year=2100),
    )  # fmt: skip
    DecidedRow.objects.create(
        decision=made, delivery=row, row_version=row.row_version, status=row.status
    )
    times = {
        "requested": "requested_at = now()",
        "executed": "requested_at = now(), executed_at = now()",
    }
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE reviews_decision SET stage = %s, {times[stage]} WHERE id = %s",
            [stage, made.pk],
        )
    return made


def test_what_was_decided_stays_and_its_list_goes_with_the_deliveries() -> None:
    old_run("R-1")
    row = Delivery.objects.get()
    decision = decided(row, "executed")
    Assignment.objects.create(delivery=row, person="ada")

    typed(*PURGE)

    decision.refresh_from_db()
    assert (decision.reason, decision.requested_by) == ("no", "ada")
    assert not DecidedRow.objects.exists()
    assert not Assignment.objects.exists()


def test_a_delivery_about_which_somebody_must_still_agree_is_kept() -> None:
    old_run("R-1")
    decided(Delivery.objects.get(), "requested")

    said = typed(*PURGE, "--json").json

    assert said["kept"] == [{"run_id": "R-1", "why": "a decision about it waits for approval"}]
    assert Run.objects.exists()


def test_the_list_of_a_decision_is_deleted_by_nothing_else() -> None:
    old_run("R-1")
    decided(Delivery.objects.get(), "executed")

    with (
        pytest.raises(IntegrityError, match="what was asked for is frozen"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("DELETE FROM reviews_decidedrow")


def test_who_asks_for_what_is_purged_is_told_when_it_went() -> None:
    old_run("R-1")
    row = Delivery.objects.get()
    typed(*PURGE)

    for words in (("show_run", "R-1"), ("show_delivery", str(row.delivery_id)), ("prove", "R-1")):
        said = typed(*words)
        assert said.code == 2
        assert "records were purged under receipt" in said.err
