"""Whatever is stuck starves nobody else: the healthy ones go out within the same shift."""

import math
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from delivery.channels.contract import Envelope, Rendered
from delivery.channels.function import FunctionAdapter
from delivery.models import ChannelMeter
from delivery.simulator.client import Simulator
from delivery.worker import Worker
from ledgers.clock import database_now
from ledgers.models import Attempt, Channel, Credential, OutboxItem
from tests.crash.clock import pass_s
from tests.delivery.senders import Desk
from tests.factories import deliveries, delivery, make_channel, record, sweep
from tests.retry.crowds import working
from tests.retry.test_ambiguity import nobody_listens
from tests.retry.ways import HOUR, MINUTE, hooks, outcomes, rooms

SOME = 100


@pytest.fixture(scope="module")
def dead_address() -> str:
    return nobody_listens()


def test_a_thousand_for_a_dead_host_let_the_one_for_a_living_host_pass(
    recipient: Simulator, dead_address: str
) -> None:
    hooks(retry_schedule=[HOUR])
    record([*(f"{dead_address}/{n}" for n in range(1000)), recipient.hook("alive")])

    Worker("shift", concurrency=32).run_shift(MINUTE)

    assert recipient.effects("alive") == 1
    assert delivery(recipient.hook("alive")).status == "delivered"
    assert Attempt.objects.count() < 100  # the others cost no attempt


@pytest.mark.slow
def test_ten_thousand_for_a_dead_host_leave_another_channel_its_share(
    recipient: Simulator, dead_address: str
) -> None:
    hooks(retry_schedule=[HOUR])
    rooms(recipient, "others")
    record([f"{dead_address}/{n}" for n in range(10_000)])
    record([f"room:{n}" for n in range(20)], run_id="run-2", channel="others")
    worker = Worker("shift", concurrency=8)

    with working(worker):
        recipient.wait_for("effects", 20, timeout_s=60)
        worker._stopping = True

    assert {row.status for row in deliveries("run-2")} == {"delivered"}
    untouched = OutboxItem.objects.filter(delivery__fence=0).count()
    assert untouched > 5000  # it did not go through all of them first


@pytest.mark.parametrize("hanging", [False, True], ids=["refusing", "hanging"])
def test_a_dead_host_leaves_another_channel_its_places(
    recipient: Simulator, dead_address: str, hanging: bool
) -> None:
    hooks(retry_schedule=[HOUR], deadline_s=2)
    rooms(recipient, "others")
    recipient.behave("dead", always="hang")
    at = recipient.hook("dead") + "?" if hanging else dead_address + "/"
    record([f"{at}{n}" for n in range(SOME)])
    record([f"room:{n}" for n in range(20)], run_id="run-2", channel="others")

    sweep(8)

    assert {row.status for row in deliveries("run-2")} == {"delivered"}
    done = max(a.closed_at for a in Attempt.objects.filter(outcome="accepted") if a.closed_at)
    waited = [a.closed_at for a in Attempt.objects.exclude(outcome="accepted")]
    if hanging:  # they were done before the first of the others had its time out
        assert done < min(moment for moment in waited if moment)


def test_messages_that_cannot_be_rendered_let_those_behind_them_pass(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = FunctionAdapter.render

    def render(self: FunctionAdapter, envelope: Envelope) -> Rendered:
        if envelope.destination.startswith("bad:"):
            raise KeyError("missing")
        return original(self, envelope)

    make_channel()
    record([*(f"bad:{n}" for n in range(SOME)), "tg:1", "tg:2"])
    monkeypatch.setattr(FunctionAdapter, "render", render)

    sweep()

    assert [one.destination for one in desk.received] == ["tg:1", "tg:2"]
    assert not Attempt.objects.filter(delivery__destination__startswith="bad:").exists()
    assert delivery("bad:7").cause == "held: held: the renderer failed: KeyError"


def corrupt_all(run_id: str) -> None:
    """Change stored payloads behind the triggers' back, as a damaged disk can."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(
            "UPDATE ledgers_message m SET payload = 'not even JSON' FROM ledgers_step s, "
            "ledgers_run r WHERE s.id = m.step_id AND r.id = s.run_id AND r.run_id = %s",
            [run_id],
        )


@pytest.mark.unverified_ledgers
def test_damaged_contents_fail_and_those_behind_them_pass(desk: Desk) -> None:
    make_channel()
    for n in range(20):
        record([f"bad:{n}"], run_id=f"bad-{n}")
        corrupt_all(f"bad-{n}")
    record(["tg:1"])

    sweep()

    assert delivery("tg:1").status == "delivered"
    bad = [delivery(f"bad:{n}", f"bad-{n}") for n in range(20)]
    assert {(row.status, row.attempt_count) for row in bad} == {("failed", 0)}
    assert "does not match the hash" in bad[0].cause


def narrow(rules: list[str], **_: Any) -> None:
    Credential.objects.filter(name="alerts-key").update(destination_rules=rules)


def without_secret(**_: Any) -> None:
    Credential.objects.filter(name="alerts-key").update(secret_ref="env:COUNTERFOIL_NO_SUCH_SECRET")


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_head_of_the_queue_without_a_route_lets_those_behind_it_pass(
    desk: Desk, concurrency: int
) -> None:
    make_channel()
    make_channel("others")
    record([f"out:{n}" for n in range(SOME)] + ["tg:1"])
    record(["tg:2"], run_id="run-2", channel="others")
    narrow(["tg:*"])  # the route of the first ones is taken away

    sweep(concurrency)

    assert delivery("tg:1").status == delivery("tg:2", "run-2").status == "delivered"
    assert sorted(one.destination for one in desk.received) == ["tg:1", "tg:2"]
    assert "outside the credential's rules" in delivery("out:7").cause


def test_a_channel_without_its_credential_holds_only_its_own(desk: Desk) -> None:
    make_channel()
    make_channel("others")
    record([f"tg:{n}" for n in range(SOME)])
    record([f"sms:{n}" for n in range(10)], run_id="run-2", channel="others")
    without_secret()

    sweep(1)

    assert {row.status for row in deliveries("run-2")} == {"delivered"}
    assert {row.attempt_count for row in deliveries()} == {0}
    assert len(desk.received) == 10


def test_one_that_fails_again_and_again_does_not_push_itself_in_front(
    recipient: Simulator,
) -> None:
    hooks(max_attempts=5, settings={"dedupe_window_s": HOUR}, retry_schedule=[0])
    recipient.behave("bad", always="503")
    record([recipient.hook("bad"), *(recipient.hook(f"room-{n}") for n in range(10))])

    sweep(1)

    order = [one["to"] for one in recipient.last_submissions(None, 100)]
    assert {recipient.effects(f"room-{n}") for n in range(10)} == {1}
    assert order.count("bad") == len(outcomes(recipient.hook("bad"))) == 5


@pytest.mark.parametrize(
    "absurd",
    [
        {"lease_s": 1e18},
        {"lease_s": math.inf},
        {"lease_s": math.nan},
        {"margin_s": 1e308, "lease_s": 1e308},
        {"rate_per_s": 1e308},
        {"rate_per_s": 1e-320},
        {"rate_per_s": math.nan},
    ],
    ids=str,
)
def test_a_channel_with_an_absurd_number_stops_no_other(
    desk: Desk, absurd: dict[str, float]
) -> None:
    make_channel()
    bad = make_channel("bad", rate_per_s=1)
    record(["tg:0"], run_id="run-0", channel="bad")
    sweep()
    record(["tg:bad"], run_id="run-bad", channel="bad")
    record(["tg:1"])
    Channel.objects.filter(pk=bad.pk).update(**absurd)
    pass_s(10)

    sweep()

    assert delivery("tg:1").status == "delivered"


def test_a_database_clock_that_was_set_back_does_not_stop_a_limited_channel(desk: Desk) -> None:
    make_channel(rate_per_s=2)
    record(["tg:0"], run_id="run-0")
    sweep()
    ChannelMeter.objects.update(refilled_at=database_now() + timedelta(hours=1))
    record(["tg:1"])

    sweep()

    assert delivery("tg:1").status == "delivered"
