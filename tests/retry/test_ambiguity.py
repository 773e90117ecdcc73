"""What may have been accepted is never taken for failed, and what was not is not taken for unknown.

Each way in which a call can end, met through the real transport at the recipient's own socket.
"""

import socket
from dataclasses import dataclass
from typing import Any

import pytest

from delivery import agent
from delivery.channels.registry import adapter_for
from delivery.simulator.client import Simulator
from ledgers.models import Attempt, Channel
from tests.commands.shell import typed
from tests.crash.clock import pass_s
from tests.delivery.waves import finish, take_calls
from tests.factories import deliveries, delivery, make_due, record, sweep
from tests.retry.ways import HOUR, hooks, outcomes, rooms, wire

SHORT_S = 0.4  # the deadline of calls that are meant to reach it


@dataclass(frozen=True)
class End:
    """How the recipient treats a call, and what must be known afterwards."""

    behaviour: object
    status: str
    effects: int


UNKNOWN = {
    "reset": "accept_and_reset",
    "closed": "accept_and_close",
    "500": "500+effect",
    "502": "502+effect",
    "503": "503+effect",
    "504": "504+effect",
    "408": "408+effect",
    "409": "409+effect",
    "425": "425+effect",
    "redirected": "accept_and_redirect",
    "522": "522+effect",
}
ENDS: dict[str, End] = {
    **{name: End(behaviour, "unknown", 1) for name, behaviour in UNKNOWN.items()},
    "unheard of": End("299+effect", "delivered", 1),  # whatever the number, a success is one
    "502 without effect": End("502", "unknown", 0),  # nobody can tell it from the one above
    "html on 200": End("accept_and_garbage", "delivered", 1),  # the status line is what counts
    "short body on 200": End("accept_and_cut", "delivered", 1),
    "429": End("rate_limit", "pending", 0),
    "422": End("refuse", "failed", 0),
    "413": End("413", "failed", 0),
}


def nobody_listens() -> str:
    """An address of this machine at which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/hook"


def test_each_end_of_a_call_leads_to_what_is_known_and_is_not_repeated(
    recipient: Simulator,
) -> None:
    hooks(retry_schedule=[HOUR])
    for name, end in ENDS.items():
        recipient.behave(name, end.behaviour)
    record([recipient.hook(name) for name in ENDS])

    for _ in range(3):
        sweep(len(ENDS))
        make_due()

    statuses = {name: delivery(recipient.hook(name)).status for name in ENDS}
    assert statuses == {name: end.status for name, end in ENDS.items()}
    assert {name: recipient.effects(name) for name in ENDS} == {
        name: end.effects for name, end in ENDS.items()
    }
    assert recipient.submissions() == Attempt.objects.count() == len(ENDS)


@pytest.mark.parametrize("behaviour", ["accept_and_hang", {"do": "accept", "after_s": 1.0}])
def test_an_answer_later_than_the_deadline_is_unknown_and_not_repeated(
    recipient: Simulator, behaviour: object
) -> None:
    hooks(deadline_s=SHORT_S)
    recipient.behave("slow", behaviour)
    record([recipient.hook("slow")])

    sweep()
    make_due()
    sweep()
    recipient.wait_for("effects", 1, to="slow")

    row = delivery(recipient.hook("slow"))
    assert (row.status, row.attempts.get().outcome) == ("unknown", "ambiguous")
    assert wire(recipient, "slow") in (["accept_and_hang"], ["accept"])
    assert "in phase written" in row.attempts.get().error


@pytest.mark.usefixtures("transactional_db")
def test_what_never_left_is_pending_and_will_be_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    hooks(retry_schedule=[HOUR])
    dead = nobody_listens()
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    record([dead, "http://nowhere.test/hook"])

    sweep()

    assert outcomes(dead) == outcomes("http://nowhere.test/hook") == ["not_sent"]
    for row in deliveries():
        attempt = row.attempts.get()
        assert (row.status, attempt.bytes_written) == ("pending", 0)
        assert row.next_attempt_at is not None
        assert "in phase connecting" in attempt.error


def test_a_connection_lost_after_the_request_three_times_is_one_attempt(
    recipient: Simulator,
) -> None:
    hooks()
    recipient.behave("a", *["accept_and_close"] * 3)
    record([recipient.hook("a")])

    for _ in range(3):
        sweep()
        make_due()

    assert delivery(recipient.hook("a")).status == "unknown"
    assert outcomes(recipient.hook("a")) == ["ambiguous"]
    assert (recipient.effects("a"), recipient.submissions("a")) == (1, 1)


LIMITED = {"do": "rate_limit", "retry_after": 13}


def test_a_rate_limit_that_proves_rejection_is_waited_for(recipient: Simulator) -> None:
    channel = hooks(settings={"rate_limit": "deferred"})
    recipient.behave("a", LIMITED)
    record([recipient.hook("a")])

    sweep()
    row, closed = delivery(recipient.hook("a")), Attempt.objects.get().closed_at
    pass_s(14)
    sweep()

    assert adapter_for(channel).declare().rate_limit_proves_rejection is True
    assert row.status == "pending"
    assert row.next_attempt_at is not None
    assert closed is not None
    assert (row.next_attempt_at - closed).total_seconds() >= 13
    assert (delivery(recipient.hook("a")).status, recipient.effects("a")) == ("delivered", 1)


def test_a_rate_limit_that_proves_nothing_is_unknown_and_not_repeated(
    recipient: Simulator,
) -> None:
    channel = hooks(settings={"rate_limit": "ambiguous"})
    recipient.behave("a", {**LIMITED, "effect": True})
    record([recipient.hook("a")])

    for _ in range(3):
        sweep()
        pass_s(HOUR)

    assert adapter_for(channel).declare().rate_limit_proves_rejection is False
    assert delivery(recipient.hook("a")).status == "unknown"
    assert (recipient.effects("a"), recipient.submissions("a")) == (1, 1)


def test_an_attempt_keeps_all_that_an_inquiry_needs_when_its_host_is_gone(
    recipient: Simulator, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "web-7")
    settings.COUNTERFOIL_BUILD = "abc123"
    rooms(recipient, deadline_s=4.5)
    recipient.behave("room:a", "accept_and_reset")
    (row,) = record(["room:a"])

    sweep()

    told = typed("show_delivery", str(row.delivery_id), "--json").json
    (attempt,) = told["attempts"]
    assert (attempt["host"], attempt["build"]) == ("web-7", "abc123")
    assert attempt["worker"].startswith("web-7:")
    assert (attempt["deadline_s"], attempt["phase"]) == (4.5, "written")
    assert attempt["bytes_written"] > 100
    assert attempt["opened_at"] < attempt["closed_at"]
    assert told["status"] == "unknown"


def test_an_agent_is_told_in_words_for_programs_not_to_send_it_again(recipient: Simulator) -> None:
    rooms(recipient)
    recipient.behave("room:a", "accept_and_close")
    record(["room:a"])

    sweep()

    (owed,) = agent.owed("run-1").standing.deliveries
    assert (owed.status, owed.advice) == ("unknown", "do_not_resend")


@pytest.mark.usefixtures("recipient")
def test_a_provider_that_declares_nothing_about_rate_limits_is_not_believed() -> None:
    channel = Channel(adapter="function", settings={"path": "tests.delivery.senders.send"})
    channel.credential = hooks().credential

    assert adapter_for(channel).declare().rate_limit_proves_rejection is False


def test_an_answer_that_names_another_message_of_ours_is_no_acceptance(
    recipient: Simulator,
) -> None:
    rooms(recipient, settings={"dedupe_window_s": HOUR}, retry_schedule=[0])
    record(["room:a"], run_id="notice")
    sweep()
    recipient.behave("room:a", always="name_another", dedupe_s=HOUR)
    record(["room:a"], run_id="reply")

    for _ in range(3):
        sweep()
        make_due()

    notice, reply = delivery("room:a", "notice"), delivery("room:a", "reply")
    attempt = reply.attempts.get()  # and the same key, which settles nothing, is not tried
    assert (notice.status, reply.status) == ("delivered", "unknown")
    assert (attempt.outcome, reply.provider_message_id) == ("mismatch", "")
    assert attempt.error.startswith("the provider named another message of ours: ")
    assert str(notice.delivery_id) in attempt.error
    assert notice.provider_message_id in attempt.response
    assert "reply" in typed("list_unknown", "--json").out
    assert recipient.effects("room:a") == 1


def test_a_doubt_about_a_borrowed_id_ends_when_its_own_recognizer_is_found(
    recipient: Simulator,
) -> None:
    rooms(recipient, look_up_schedule=[0], settings={"look_up_by_key": False})
    (notice,) = record(["room:a"], run_id="notice")
    sweep()
    recipient.behave("room:a", "name_another")
    record(["room:a"], run_id="reply")
    sweep()
    doubted = delivery("room:a", "reply")

    (shown,) = [one for one in recipient.messages("room:a") if notice.recognizer in one["text"]]
    recipient.inject("room:a", f"ref {doubted.recognizer}", author=shown["author"])
    pass_s(HOUR)
    sweep()

    assert doubted.status == "unknown"
    assert delivery("room:a", "reply").status == "delivered"
    assert delivery("room:a", "reply").evidence.get(verdict="found").method == "surface_scan"


def test_two_answers_of_one_wave_with_one_id_are_both_doubted(recipient: Simulator) -> None:
    rooms(recipient)
    recipient.behave("room:a", *[{"do": "accept", "body": '{"id": "same"}'}] * 2)
    recipient.behave("room:b", {"do": "accept", "body": '{"id": "same"}'})
    record(["room:a", "room:b"], run_id="first")
    record(["room:a"], run_id="second")

    finish(take_calls())

    both = [delivery("room:a", run_id) for run_id in ("first", "second")]
    assert [row.status for row in both] == ["unknown", "unknown"]
    # Ids may be one per destination only.
    assert delivery("room:b", "first").status == "delivered"


def test_ids_are_compared_only_where_the_channel_declares_that_they_tell_messages_apart(
    recipient: Simulator,
) -> None:
    hooks("unnamed")
    hooks("named", settings={"id_header": "X-Message"})
    said = {"do": "accept", "body": '{"id": "ok"}', "headers": {"X-Message": "m-1"}}
    recipient.behave("a", always=said)
    for number in (1, 2):
        record([recipient.hook("a")], run_id=f"unnamed-{number}", channel="unnamed")
        record([recipient.hook("a")], run_id=f"named-{number}", channel="named")
        sweep()

    statuses = {
        run: delivery(recipient.hook("a"), run).status
        for run in ("unnamed-1", "unnamed-2", "named-1", "named-2")
    }
    assert statuses.pop("named-2") == "unknown"
    assert set(statuses.values()) == {"delivered"}
