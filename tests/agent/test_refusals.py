"""Everything that is wrong is refused when it is recorded, by name, and nothing is half written."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from delivery import agent
from ledgers.models import Channel, Step
from tests.factories import count_rows, make_channel, message

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)
NAIVE = NOW.replace(tzinfo=None)

CONTENT: list[tuple[str, Any, str]] = [
    ("content.a", {"a": "x\x00y"}, "without NUL"),
    ("content.a", {"a": "\ud83c"}, "whole Unicode characters"),
    ("content[0]", [float("nan")], "a finite number"),
    ("content[0]", [float("inf")], "a finite number"),
    ("content", b"bytes", "JSON"),
    ("content.at", {"at": NOW}, "JSON"),
    ("content.s", {"s": {1}}, "JSON"),
    ("content", {1: "a"}, "text as every key"),
    ("content.n", {"n": 2**64}, "at most 64 bits"),
    ("content", "x" * 2_000_000, "at most 1048576 bytes"),
]
DESTINATIONS: list[tuple[str, Any, str]] = [
    ("to", [], "at least one destination"),
    ("to", "tg:1001", "a list of destinations"),
    ("to", None, "a list of destinations"),
    ("to", {"tg:1001"}, "a list of destinations"),
    ("to[1]", ["tg:1001", None], "a real destination"),
    ("to[0]", [7], "a real destination"),
    ("to[0]", ["tg:1\x00"], "text without NUL"),
    ("to[0]", ["tg:\ud800"], "whole Unicode characters"),
    ("to[0]", ["tg:1\n2"], "a text that your function understands"),
    ("to[0]", ["tg:" + "9" * 1000], "at most 1000 characters"),
    ("to[0]", ["mail:1"], "matches 'tg:*' or 'sms:*'"),
]
PLACEHOLDERS = [
    "", " ", "None", "null", "user", "User ", "heartbeat", "HEARTBEAT", "undefined", "tbd",
    "{user}", "{{ chat_id }}", "${USER}", "$USER", "<chat-id>", "%s",
]  # fmt: skip
OTHERS: list[tuple[str, dict[str, Any], str]] = [
    ("name", {"name": ""}, "text of 1 to 200 characters"),
    ("name", {"name": None}, "text of 1 to 200 characters"),
    ("name", {"name": "a\x00"}, "without NUL"),
    ("name", {"name": "x" * 201}, "at most 200"),
    ("channel", {"channel": "nowhere"}, "one of: alerts"),
    ("channel", {"channel": None}, "one of: alerts"),
    ("channel", {"channel": "a\x00"}, "one of: alerts"),
    ("channel", {"channel": "a\ud800"}, "one of: alerts"),
    ("not_before", {"not_before": NAIVE}, "a moment with its zone"),
    ("not_after", {"not_after": NAIVE}, "a moment with its zone"),
    ("not_after", {"not_after": "2026-12-01"}, "a moment with its zone"),
    ("not_after", {"not_before": NOW, "not_after": NOW}, "a moment after not_before"),
]


@pytest.fixture(autouse=True)
def alerts() -> Channel:
    return make_channel(rules=["tg:*", "sms:*", "user*", "*@example.com"])


def refusal_of(*messages: Any, result: Any = None, **arguments: Any) -> agent.InvalidValueError:
    """The refusal of a completion after which every table is as it was before."""
    with agent.run("run-1", agent="tester") as run:
        step = run.step("write")
        before = count_rows()
        with pytest.raises(agent.InvalidValueError) as refusal:
            step.complete(result, list(messages), **arguments)
        assert count_rows() == before
        assert Step.objects.get().status == "running"
        step.complete("mended", [message()])
    return refusal.value


@pytest.mark.parametrize(("field", "content", "right"), CONTENT, ids=lambda v: str(v)[:20])
def test_content_that_cannot_be_kept(field: str, content: Any, right: str) -> None:
    refusal = refusal_of(message(), message(name="second", content=content))

    assert refusal.field == f"messages[1].{field}"
    assert right in refusal.right


@pytest.mark.parametrize(("field", "to", "right"), DESTINATIONS, ids=lambda v: str(v)[:20])
def test_destinations_that_are_none(field: str, to: Any, right: str) -> None:
    given = agent.Message("second", channel="alerts", to=to, content="hello")

    refusal = refusal_of(message(), given)

    assert refusal.field == f"messages[1].{field}"
    assert right in str(refusal)


@pytest.mark.parametrize("placeholder", PLACEHOLDERS)
def test_a_placeholder_is_no_destination(placeholder: str) -> None:
    refusal = refusal_of(message(["tg:1001", placeholder]))

    assert refusal.field == "messages[0].to[1]"
    assert "placeholder" in refusal.problem


@pytest.mark.parametrize(("field", "fields", "right"), OTHERS, ids=lambda v: str(v)[:30])
def test_names_channels_and_moments_that_are_wrong(
    field: str, fields: dict[str, Any], right: str
) -> None:
    refusal = refusal_of(message(), message(**{"name": "second"} | fields))

    assert refusal.field == f"messages[1].{field}"
    assert right in refusal.right


def test_content_that_the_adapter_can_never_render() -> None:
    make_channel("limited", settings={"path": "tests.delivery.senders.send", "part_limit": 100})

    refusal = refusal_of(message(channel="limited", content={"no": "text"}))

    assert refusal.field == "messages[0].content"
    assert 'under "text"' in refusal.right


def test_a_channel_whose_adapter_is_not_installed() -> None:
    make_channel("pigeons", adapter="carrier-pigeon")

    refusal = refusal_of(message(channel="pigeons"))

    assert refusal.field == "messages[0].channel"
    assert "no adapter is named 'carrier-pigeon'" in refusal.problem


def test_the_same_message_twice_through_one_channel() -> None:
    refusal = refusal_of(message(), message(["tg:1002"]))

    assert refusal.field == "messages[1].name"
    assert "with all its destinations in `to`" in refusal.right


def test_a_credential_without_a_rule_reaches_nobody() -> None:
    make_channel("unruled", rules=[])

    refusal = refusal_of(message(channel="unruled"))

    assert refusal.field == "messages[0].to[0]"
    assert "a rule; none is set" in refusal.right


@pytest.mark.parametrize("messages", [message(), "digest", ["digest"], [None]], ids=str)
def test_what_is_no_list_of_messages(messages: Any) -> None:
    with agent.run("run-1", agent="tester") as run:
        step = run.step("write")
        with pytest.raises(agent.InvalidValueError, match=r"^messages"):
            step.complete(None, messages)
        step.complete()


def test_a_result_that_cannot_be_kept_records_no_message() -> None:
    refusal = refusal_of(message(), result={"a": float("nan")})

    assert refusal.field == "result.a"


@pytest.mark.parametrize(
    ("field", "arguments"),
    [("result_ref", {"result_ref": "x" * 1001}), ("announces", {"announces": "digest"})],
)
def test_the_other_arguments_of_a_completion(field: str, arguments: dict[str, Any]) -> None:
    assert refusal_of(message(), **arguments).field == field


def test_an_announced_message_that_is_wrong_is_refused_alike() -> None:
    with agent.run("run-1", agent="tester") as run:
        step = run.step("write")
        step.complete(None, announces=["digest"])
        before = count_rows()

        with pytest.raises(agent.InvalidValueError) as refusal:
            step.record([message(["user"])])

        assert refusal.value.field == "messages[0].to[0]"
        assert count_rows() == before
        step.record([message()])


def test_a_message_that_was_not_announced_is_refused_and_says_what_was() -> None:
    with agent.run("run-1", agent="tester") as run:
        step = run.step("write")
        step.complete(None, announces=["digest"])
        before = count_rows()

        with pytest.raises(agent.InvalidValueError, match="did not announce 'alarm'") as refusal:
            step.record([message(name="alarm")])

        assert refusal.value.right == "one of: digest"
        assert count_rows() == before
        step.record([message()])


def test_a_destination_that_looks_like_a_placeholder_but_is_none_is_taken() -> None:
    with agent.run("run-1", agent="tester") as run:
        run.step("write").complete(None, [message(["user@example.com", "user:1"])])

    assert {d.destination for d in agent.owed("run-1").standing.deliveries} == {
        "user@example.com",
        "user:1",
    }


def test_a_withdrawal_or_question_about_a_run_that_cannot_be() -> None:
    for run_id in ("nobody", "a\x00b", "a\ud800"):
        for call in (agent.owed, agent.cancel):
            with pytest.raises((agent.NotFoundError, agent.InvalidValueError), match=r"^run_id: "):
                call(run_id)


def test_the_last_moment_may_be_long_ago_and_then_nothing_is_sent() -> None:
    past = NOW - timedelta(days=5000)

    with agent.run("run-1", agent="tester") as run:
        step = run.step("write")
        step.complete(None, [message(not_after=past)])

    assert agent.owed("run-1").standing.on_its_way
