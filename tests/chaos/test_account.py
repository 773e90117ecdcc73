"""The account finds what is wrong: each claim is broken once, and named."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from delivery import agent
from delivery.simulator.client import Simulator
from ledgers.models import Attempt, Delivery, OutboxItem
from tests.chaos.account import Account, account
from tests.chaos.agent import complete
from tests.chaos.plan import CHANNELS, run_id_of, work_of
from tests.factories import make_channel, sweep
from tests.ground.crew import Member

pytestmark = pytest.mark.django_db(transaction=True)
SEED, NAME = 1, "ada"
Arrived = list[dict[str, Any]]
Accounted = Callable[..., Account]


@pytest.fixture(scope="module")
def recipient_process() -> Iterator[Simulator]:
    with Simulator.start() as recipient:
        yield recipient


@pytest.fixture
def recipient(recipient_process: Simulator) -> Simulator:
    """One that remembers nothing of earlier tests."""
    recipient_process.forget()
    return recipient_process


@pytest.fixture
def worked(recipient: Simulator) -> Simulator:
    """Run 0 of the plan, recorded and delivered."""
    for slug in CHANNELS:
        make_channel(slug, adapter="simulator", settings={"url": recipient.url})
    with agent.run(run_id_of(NAME, 0), agent=NAME) as run:
        for work in work_of(SEED, NAME, 0):
            complete(run.step(work.step_id), work)
    sweep()
    return recipient


@pytest.fixture
def accounted(worked: Simulator, tmp_path: Any) -> Accounted:
    """The account of what arrived, told otherwise by the test."""

    def judge(change: Callable[[Arrived], object] = list, *freezes: Any, last: int = 0) -> Account:
        arrived = worked.last_submissions(last=1000)
        change(arrived)
        worker = Member("worker-1", [], {}, tmp_path / "log", freezes=list(freezes))
        return account(SEED, {NAME: last}, arrived, [worker])

    return judge


def again(arrived: Arrived) -> None:
    arrived.append(dict(arrived[0]))


def without_effect(arrived: Arrived) -> None:
    arrived[0]["effect"] = ""


def unheard_of(arrived: Arrived) -> None:
    arrived.append({**arrived[0], "key": "of nobody"})


def lose(arrived: Arrived) -> None:
    arrived.pop()


def test_what_went_well_is_said_to_have_gone_well(accounted: Accounted) -> None:
    found = accounted()

    assert (found.broken, found.residual) == ([], [])
    assert found.attempts == found.submissions == found.effects == Delivery.objects.count() > 0
    assert dict(found.runs) == {"completed": 1}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (again, "acted on 2 times"),
        (without_effect, "claimed delivered, and nothing was acted on"),
        (unheard_of, "what arrives is on record: of nobody"),
        (lose, "0 submissions, 1 answered of 1 tried"),
    ],
)
def test_a_recipient_that_saw_something_else_is_heard(
    accounted: Accounted, change: Callable[[Arrived], object], said: str
) -> None:
    found = accounted(change)

    assert said in "\n".join(found.broken)


def test_a_run_that_was_begun_and_is_not_there_is_missed(accounted: Accounted) -> None:
    found = accounted(last=1)

    assert f"run {run_id_of(NAME, 1)} is unheard of" in "\n".join(found.broken)


@pytest.mark.unverified_ledgers
def test_what_is_in_the_queue_is_not_at_rest(accounted: Accounted) -> None:
    row = Delivery.objects.select_related("message").first()
    assert row is not None
    OutboxItem.objects.create(delivery=row, channel=row.message.channel, due_at="2100-01-01T00:00Z")

    found = accounted()

    assert f"{row.destination} is in the queue" in "\n".join(found.broken)


@pytest.mark.parametrize("slug", CHANNELS)
def test_a_duplicate_is_the_residual_only_of_a_frozen_worker_and_without_a_key(
    accounted: Accounted, slug: str
) -> None:
    attempt = Attempt.objects.filter(delivery__message__channel__slug=slug).first()
    if attempt is None:
        pytest.fail(f"the plan of seed {SEED} has nothing on {slug}: take another seed")
    key, opened = attempt.idempotency_key, attempt.opened_at.timestamp()
    pid = int(attempt.worker.split(":")[1])

    def twice(arrived: Arrived) -> None:
        arrived.extend(dict(one) for one in list(arrived) if one["key"] == key)

    awake = accounted(twice)
    elsewhen = accounted(twice, (pid, opened - 20, opened - 10))
    another = accounted(twice, (pid + 1, opened - 1, opened + 1))
    frozen = accounted(twice, (pid, opened - 1, opened + 1))

    assert all(one.broken and not one.residual for one in (awake, elsewhen, another))
    assert bool(frozen.residual) is (slug != "keyed")
    assert bool(frozen.broken) is (slug == "keyed")
