"""What stops a delivery without costing it anything, and lets it go when it is gone."""

from collections.abc import Callable

import pytest
from django.db import connection, transaction

from delivery import agent
from delivery.channels.contract import Envelope, Rendered
from delivery.channels.function import FunctionAdapter
from ledgers.clock import ClockTimestamp, database_now
from ledgers.models import Attempt, Channel, Credential, Event, Installation
from tests.crash.clock import pass_s
from tests.delivery.senders import Desk
from tests.factories import SENDER, deliveries, delivery, make_channel, make_due, record, sweep

pytestmark = pytest.mark.django_db(transaction=True)


def pause() -> None:
    Channel.objects.update(paused_at=ClockTimestamp(), pause_reason="holidays")


def unpause() -> None:
    Channel.objects.update(paused_at=None)


def narrow() -> None:
    Credential.objects.update(destination_rules=["sms:*"])


def widen() -> None:
    Credential.objects.update(destination_rules=["*"])


def lose_secret() -> None:
    Credential.objects.update(secret_ref="env:COUNTERFOIL_NO_SUCH_SECRET")


def find_secret() -> None:
    Credential.objects.update(secret_ref="")


def swap_secret() -> None:
    Credential.objects.update(fingerprint="of another")


def swap_back() -> None:
    Credential.objects.update(fingerprint="")


def uninstall() -> None:
    Channel.objects.update(adapter="carrier-pigeon")


def install() -> None:
    Channel.objects.update(adapter="function")


def ask_first() -> None:
    Channel.objects.update(requires_approval=True)


def ask_no_more() -> None:
    Channel.objects.update(requires_approval=False)


def hold_everything() -> None:
    Installation.objects.update(held_at=ClockTimestamp(), held_reason="restored")


def release_everything() -> None:
    Installation.objects.update(held_at=None, held_reason="")


def misplace_sender() -> None:
    Channel.objects.update(settings={"path": "tests.delivery.senders.no_such_function"})


def break_sender() -> None:
    Channel.objects.update(settings={"path": "tests.delivery.broken_sender.send"})


def let_sender_leave() -> None:
    Channel.objects.update(settings={"path": "tests.channels.leaving_sender.send"})


def mend_sender() -> None:
    Channel.objects.update(settings={"path": SENDER})


def split_otherwise() -> None:
    Channel.objects.update(settings={"path": SENDER, "part_limit": 4})


Act = Callable[[], None]
HOLDS: dict[str, tuple[Act, Act, str]] = {
    "paused": (pause, unpause, "channel paused: holidays"),
    "c67: outside the rules": (narrow, widen, "destination outside the credential's rules"),
    "no secret": (lose_secret, find_secret, "credential alerts-key unavailable"),
    "c70: another identity": (swap_secret, swap_back, "is of another identity"),
    "no such adapter": (uninstall, install, "no adapter is named 'carrier-pigeon'"),
    "needs approval": (ask_first, ask_no_more, "approval required"),
    "everything held": (hold_everything, release_everything, "everything is held: restored"),
    "c43: not ready": (misplace_sender, mend_sender, "not ready"),
    "sender cannot be imported": (break_sender, mend_sender, "not ready"),
    "sender ends the program when imported": (let_sender_leave, mend_sender, "SystemExit"),
    "splits otherwise": (split_otherwise, mend_sender, "the renderer changed"),
}


@pytest.mark.parametrize(("hold", "lift", "reason"), HOLDS.values(), ids=HOLDS)
def test_what_holds_a_delivery_costs_no_attempt_and_lets_it_go_later(
    alerts: Channel, desk: Desk, hold: Act, lift: Act, reason: str
) -> None:
    record()
    hold()

    for _ in range(3):
        sweep()
        make_due()
    held = delivery()
    attempts, sent = Attempt.objects.count(), len(desk.received)
    events = Event.objects.filter(delivery=held, kind="hold").count()
    lift()
    sweep()

    assert (attempts, sent, held.status, held.attempt_count) == (0, 0, "pending", 0)
    assert held.cause.startswith("held: ")
    assert reason in held.cause
    assert events == 1
    assert (delivery().status, delivery().attempt_count) == ("delivered", 1)
    assert desk.effects("tg:1001") == 1


@pytest.mark.parametrize(
    ("hold", "reason"),
    [(hold, why) for hold, _, why in HOLDS.values() if hold is not hold_everything],
)
def test_a_channel_that_cannot_work_holds_nobody_else(
    alerts: Channel, desk: Desk, hold: Act, reason: str
) -> None:
    record(["tg:1"])
    hold()
    make_channel("others")
    record(["tg:2"], run_id="run-2", channel="others")

    sweep()

    assert reason in delivery("tg:1").cause
    assert delivery("tg:2", "run-2").status == "delivered"


def test_a_channel_that_is_down_for_three_boots_has_cost_nothing_at_the_fourth(
    alerts: Channel, desk: Desk
) -> None:
    Channel.objects.update(max_attempts=1)
    record()
    misplace_sender()
    counts = []
    for _ in range(3):
        sweep()
        make_due()
        counts.append(delivery().attempt_count)

    mend_sender()
    sweep()

    assert counts == [0, 0, 0]
    assert (delivery().status, delivery().attempt_count) == ("delivered", 1)


def test_other_bytes_than_those_recorded_are_never_sent(
    alerts: Channel, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def render_otherwise(self: FunctionAdapter, envelope: Envelope) -> Rendered:
        return Rendered(b'"other"', envelope.destination, {"recognizer": envelope.recognizer})

    record()
    monkeypatch.setattr(FunctionAdapter, "render", render_otherwise)
    sweep()
    held = delivery()
    monkeypatch.undo()
    make_due()
    sweep()

    assert (held.status, held.attempt_count) == ("pending", 0)
    assert "the renderer changed since this was recorded" in held.cause
    assert len(desk.received) == 0  # undone, the desk's own patch is gone as well
    assert delivery().status == "delivered"


def test_a_renderer_that_raises_holds_its_message_and_the_next_one_is_sent(
    alerts: Channel, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = FunctionAdapter.render

    def render(self: FunctionAdapter, envelope: Envelope) -> Rendered:
        if envelope.destination == "tg:1":
            raise KeyError("missing")
        return original(self, envelope)

    record(["tg:1", "tg:2"])
    monkeypatch.setattr(FunctionAdapter, "render", render)

    sweep()

    assert "the renderer failed: KeyError" in delivery("tg:1").cause
    assert [row.status for row in deliveries()] == ["pending", "delivered"]


def corrupt(destination: str) -> None:
    """Change a stored payload behind the triggers' back, as a damaged disk or a superuser can."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(
            "UPDATE ledgers_message m SET payload = '\"pay me\"' FROM ledgers_delivery d"
            " WHERE d.message_id = m.id AND d.destination = %s",
            [destination],
        )


@pytest.mark.unverified_ledgers
def test_a_payload_that_does_not_match_its_hash_fails_and_the_next_one_is_sent(
    alerts: Channel, desk: Desk
) -> None:
    record(["tg:1"])
    record(["tg:2"], run_id="run-2")
    corrupt("tg:1")

    sweep()

    row = delivery("tg:1")
    assert (row.status, row.attempt_count) == ("failed", 0)
    assert "does not match the hash" in row.cause
    assert delivery("tg:2", "run-2").status == "delivered"
    assert [one.destination for one in desk.received] == ["tg:2"]


@pytest.mark.unverified_ledgers
def test_a_damaged_payload_of_something_possibly_accepted_is_not_called_failed(
    alerts: Channel, desk: Desk
) -> None:
    Channel.objects.update(
        settings={"path": SENDER, "dedupe_window_s": 86400}, retry_schedule=[3600]
    )
    desk.script("tg:1", RuntimeError("reset"))
    record(["tg:1"])
    sweep()  # it will be sent again under the same key, in an hour
    corrupt("tg:1")
    pass_s(7200)

    sweep()

    row = delivery("tg:1")
    assert (row.status, row.attempt_count) == ("unknown", 1)
    assert row.cause.startswith("blocked:")


def test_content_that_can_no_longer_be_split_is_held_and_the_next_one_is_sent(
    alerts: Channel, desk: Desk
) -> None:
    record(["tg:1"], {"no": "text"})
    make_channel("others")
    record(["tg:2"], run_id="run-2", channel="others")
    limited = {"path": SENDER, "part_limit": 4}
    Channel.objects.filter(slug="alerts").update(settings=limited)

    sweep()

    assert "cannot split this" in delivery("tg:1").cause
    assert delivery("tg:2", "run-2").status == "delivered"


def test_not_before_is_honoured(alerts: Channel, desk: Desk) -> None:
    tomorrow = database_now().replace(year=2099)
    record(not_before=tomorrow)

    sweep()
    make_due()  # even if the queue were wrong about it
    sweep()

    row = delivery()
    assert (row.status, row.next_attempt_at, desk.received) == ("pending", tomorrow, [])
    assert row.cause.startswith("too-early:")


def test_after_not_after_it_expires_unsent(alerts: Channel, desk: Desk) -> None:
    record(not_after=database_now().replace(year=2020))

    sweep()

    row = delivery()
    assert (row.status, row.attempt_count, desk.received) == ("expired", 0, [])
    assert agent.owed("run-1").standing.deliveries[0].advice == "not_sent"
