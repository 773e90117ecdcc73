"""Contents go on request, whoever erases them is in the trail, and hashes and seals hold."""

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from delivery import agent
from delivery.erasing import erase, of_run
from delivery.models import Receipt
from ledgers import moves, seals
from ledgers.clock import database_now
from ledgers.evidence import Sighting, add_sightings
from ledgers.models import Attempt, Channel, Delivery, Event, Evidence, Message, Run, Step
from ledgers.states import DeliveryStatus as S
from tests.commands.shell import typed
from tests.factories import make_channel, message, record
from tests.ledgers.rows import begin, change_of, close, row_in

pytestmark = pytest.mark.django_db
ERASE = ("--execute", "--reason", "request 4711")


@pytest.fixture(autouse=True)
def alerts() -> Channel:
    return make_channel()


@pytest.fixture
def row(alerts: Channel) -> Delivery:
    """A delivered message with an answer, a finding and a report, all sealed."""
    made = row_in(S.DELIVERED, "R-1")
    add_sightings([
        Sighting(made.pk, database_now(), "receipt", "found", "", "", None, 0, "", "raw ada", "r")
    ])  # fmt: skip
    Receipt.objects.create(
        channel=alerts, receipt_id="r1", kind="delivered", raw="raw ada", delivery=made
    )
    seals.seal_all()
    return made


def execute(sql: str, *parameters: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)


def test_it_only_looks_unless_it_is_told_to(row: Delivery) -> None:
    said = typed("erase", "--run", "R-1", "--json").json

    assert (said["contents"], said["results"], said["answers"], said["reports"]) == (1, 1, 1, 1)
    assert Message.objects.get().payload == '"hello"'


def test_everything_of_a_run_goes_and_hashes_and_seals_hold(row: Delivery) -> None:
    said = typed("erase", "--run", "R-1", *ERASE)

    assert said.code == 0
    assert (Message.objects.get().payload, Step.objects.get().result) == (None, None)
    assert Evidence.objects.get().response.startswith("erased, sha256 ")
    assert Receipt.objects.get().raw == ""
    kinds = Event.objects.filter(kind__startswith="erase_").values_list("kind", flat=True)
    assert sorted(kinds) == ["erase_answer", "erase_payload", "erase_result"]
    assert {e.detail["reason"] for e in Event.objects.filter(kind__in=kinds)} == {"request 4711"}
    # Every invariant, and every seal, is verified after this test.


def test_the_answer_of_an_attempt_becomes_its_hash() -> None:
    attempt = begin(record(run_id="R-2")[0])
    close(attempt, "refused", permanent=True, response="no such user ada")
    seals.seal_all()
    moves.fail([change_of(Delivery.objects.get())])

    erase(of_run("R-2"), "ada", "request 4711")

    assert Attempt.objects.get().response.startswith("erased, sha256 ")
    assert erase(of_run("R-2"), "ada", "request 4711").answers == 0


def test_of_a_delivery_the_shared_content_goes_and_the_results_stay(row: Delivery) -> None:
    said = typed("erase", "--delivery", str(row.delivery_id), *ERASE, "--json").json

    assert (said["contents"], said["results"], said["answers"]) == (1, 0, 1)
    assert Step.objects.get().result is not None


@pytest.mark.parametrize("status", [S.PENDING, S.SUBMITTING, S.UNKNOWN])
def test_what_is_open_is_needed(status: S) -> None:
    made = row_in(status, "R-3")

    for words in (("--run", "R-3"), ("--delivery", str(made.delivery_id))):
        said = typed("erase", *words, *ERASE)
        assert said.code == 1
        assert f"is {status}, so the content is needed" in said.err


def test_a_run_that_goes_on_is_not_erased() -> None:
    with agent.run("R-4", agent="tester") as run:
        run.step("write").complete({"secret": 1})
        step = Step.objects.get()
        said = typed("erase", "--run", "R-4", *ERASE)

        assert (said.code, "is running: erase once it has ended" in said.err) == (1, True)
        with pytest.raises(IntegrityError, match="is not over"), transaction.atomic():
            execute("SELECT ledgers_erase_result(%s, 'ada', '')", step.pk)


def test_a_step_whose_result_was_erased_is_not_done_again(row: Delivery) -> None:
    erase(of_run("R-1"), "ada", "request 4711")

    with (
        pytest.raises(agent.ErasedError, match="its result was erased"),
        agent.run("R-1", agent="tester") as run,
    ):
        run.step("write").complete({"done": True}, [message()])

    assert Delivery.objects.count() == 1
    assert Run.objects.get().status == "completed"


@pytest.mark.parametrize(
    ("setting", "sql", "kind"),
    [
        ("result {}", "UPDATE ledgers_step SET result = NULL", "erase_result"),
        (
            "answers",
            "UPDATE ledgers_evidence SET response = ledgers_erased(response)",
            "erase_answer",
        ),
    ],
)
def test_erasing_by_hand_is_in_the_trail_as_well(
    row: Delivery, setting: str, sql: str, kind: str
) -> None:
    named = setting.format(Step.objects.get().pk)
    execute("SELECT set_config('counterfoil.erasing', %s, true)", named)

    execute(sql)

    execute("SELECT set_config('counterfoil.erasing', '', true)")
    with connection.cursor() as cursor:
        cursor.execute("SELECT session_user::text")
        assert Event.objects.get(kind=kind).actor == cursor.fetchone()[0]


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE ledgers_evidence SET response = 'something else'",
        "UPDATE ledgers_evidence SET response = ledgers_erased(response), verdict = 'absent'",
        "UPDATE ledgers_attempt SET response = 'something else'",
        "UPDATE ledgers_attempt SET outcome = 'not_sent'",
        "UPDATE ledgers_step SET result = '2'",
        "UPDATE ledgers_step SET result = NULL, result_hash = 'x'",
    ],
)
def test_the_setting_by_hand_changes_nothing_else(row: Delivery, sql: str) -> None:
    for setting in ("answers", f"result {Step.objects.get().pk}"):
        execute("SELECT set_config('counterfoil.erasing', %s, true)", setting)
        with pytest.raises(IntegrityError, match="is refused"), transaction.atomic():
            execute(sql)
    execute("SELECT set_config('counterfoil.erasing', '', true)")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "either --run RUN or --delivery ID"),
        (("--run", "a", "--delivery", "b"), "either --run RUN or --delivery ID"),
        (("--run", "nobody"), "there is no run 'nobody'"),
        (("--run", "R-1", "--execute"), "reason: is empty"),
    ],
)
def test_what_cannot_be_meant_is_refused(row: Delivery, words: tuple[str, ...], said: str) -> None:
    told = typed("erase", *words)

    assert (told.code, said in told.err) == (2, True)
