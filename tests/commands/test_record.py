"""`record`: what a shell can say, and what is refused before anything is written."""

import json
from pathlib import Path
from typing import Any

import pytest

from delivery import agent
from ledgers.models import Channel, Delivery, Message, Run, Step
from tests.commands.shell import typed
from tests.factories import message

SAID: dict[str, Any] = {
    "run_id": "run-1",
    "agent": "tester",
    "step_id": "write",
    "result": {"done": True},
    "messages": [
        {"name": "digest", "channel": "alerts", "to": ["room:ops", "room:b"], "content": "hello"}
    ],
}


def say(**changed: Any) -> str:
    return json.dumps(SAID | changed)


def say_message(**changed: Any) -> str:
    return say(messages=[SAID["messages"][0] | changed])


def test_a_shell_and_the_python_call_arrive_at_the_same_deliveries(alerts: Channel) -> None:
    first = typed("record", "--json", stdin=say())

    with agent.run("run-1", agent="tester") as run:
        step = run.step("write")
        step.complete({"done": True}, [message(["room:ops", "room:b"])])
    assert step.done
    known = [d.delivery_id for d in step.sent.standing().deliveries]
    assert [d["delivery_id"] for d in first.json["deliveries"]] == known
    assert first.code == 0
    assert not first.json["known"]
    assert first.json["run_status"] == "completed"


def test_saying_it_again_is_safe_and_said_so(alerts: Channel) -> None:
    typed("record", stdin=say())

    again = typed("record", stdin=say())

    assert again.code == 0
    assert "known already" in again.out
    assert Delivery.objects.count() == 2


def test_a_roster_that_differs_the_second_time_changes_nothing_and_is_named(
    alerts: Channel,
) -> None:
    typed("record", stdin=say())

    again = typed("record", "--json", stdin=say_message(to=["room:new"]))

    assert again.code == 0
    assert again.json["differs"] == ["roster_drift"]
    assert [d["destination"] for d in again.json["deliveries"]] == ["room:ops", "room:b"]


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ("", "the input"),
        ("[1]", "the input"),
        ("{", "the input"),
        ("[" * 100_000, "the input"),
        ('{"run_id": "a", "run_id": "b"}', "run_id"),
        (say(steps=[]), "steps"),
        (json.dumps({"agent": "a", "step_id": "s"}), "run_id"),
        (say(run_id=7), "run_id"),
        (say(run_id="a\x00b"), "run_id"),
        (say(agent=None), "agent"),
        (say(step_id=" s"), "step_id"),
        (say(version="1"), "version"),
        (say(version=True), "version"),
        (say().replace('{"done": true}', "9" * 6000), "result"),
        (say().replace('{"done": true}', '{"a": [-' + "9" * 6000 + "]}"), "result.a[0]"),
        (say(version=7).replace("7", "7" * 6000), "version"),
        (say(run_id=7).replace("7", "7" * 6000), "run_id"),
        (say(result=float("nan")), "result"),
        (say(result="\ud800"), "result"),
        (say(input=[float("inf")]), "input[0]"),
        (say(result_ref=3), "result_ref"),
        (say(end_run="no"), "end_run"),
        (say(announces="digest"), "announces"),
        (say(announces=[3]), "announces[0]"),
        (say(trigger_key=3), "trigger_key"),
        (say(messages={"name": "x"}), "messages"),
        (say(messages=["x"]), "messages[0]"),
        (say_message(too=["a"]), "messages[0].too"),
        (say_message(to="room:ops"), "messages[0].to"),
        (say_message(to=["user"]), "messages[0].to[0]"),
        (say_message(to=[None]), "messages[0].to[0]"),
        (say_message(channel="nope"), "messages[0].channel"),
        (say_message(channel=["alerts"]), "messages[0].channel"),
        (say_message(name=""), "messages[0].name"),
        (say_message(content={"a": 1}), "messages[0].content"),
        (say_message(not_before="soon"), "messages[0].not_before"),
        (say_message(not_before="2026-12-01T08:00:00"), "messages[0].not_before"),
        (say_message(not_after=3), "messages[0].not_after"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(
    alerts: Channel, said: str, field: str
) -> None:
    refused = typed("record", "--json", stdin=said)

    assert refused.code == 2, refused
    assert refused.json["field"] == field
    assert "Right would be" in refused.err
    assert not Run.objects.exists()
    assert not Step.objects.exists()
    assert not Message.objects.exists()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (say(version=99999999999999999999), "Right would be: at most 2147483647."),
        ("{}", "run_id: is missing. Right would be: a value for it: it has no default."),
        (b"\xff", "file: standard input is not UTF-8 at byte 0."),
    ],
)
def test_a_refusal_reads_as_a_sentence(alerts: Channel, said: str | bytes, told: str) -> None:
    refused = typed("record", stdin=said)

    assert (refused.code, told in refused.err) == (2, True), refused.err


def test_the_help_shows_a_channel_that_a_new_installation_has() -> None:
    told = typed("record", "--help").out

    assert '"channel": "notes"' in told
    assert "end_run: true, the default" in told


def test_a_missing_key_names_the_key(alerts: Channel) -> None:
    broken = {key: value for key, value in SAID["messages"][0].items() if key != "to"}

    refused = typed("record", stdin=say(messages=[broken]))

    assert (refused.code, "messages[0].to: is missing" in refused.err) == (2, True)


def test_other_input_for_a_known_step_is_a_conflict_and_not_a_misuse(alerts: Channel) -> None:
    typed("record", stdin=say(input=1))

    conflict = typed("record", stdin=say(input=2))

    assert conflict.code == 1
    assert "was started with input" in conflict.err


def test_a_run_of_several_steps_is_left_open_on_request(alerts: Channel) -> None:
    first = typed("record", "--json", stdin=say(end_run=False))
    second = typed("record", "--json", stdin=say(step_id="second"))

    assert first.json["run_status"] == "running"
    assert second.json["run_status"] == "completed"
    assert Delivery.objects.count() == 4


def test_the_same_trigger_is_the_same_run_whatever_the_run_is_called(alerts: Channel) -> None:
    typed("record", stdin=say(trigger_key="slot-1"))

    second = typed("record", "--json", stdin=say(trigger_key="slot-1", run_id="other"))

    assert second.json["known"]
    assert second.json["run_id"] == "run-1"


def test_an_announced_message_may_be_recorded_later(alerts: Channel) -> None:
    typed("record", stdin=say(messages=[], announces=["digest"]))

    later = typed("record", "--json", stdin=say())

    assert later.json["known"]
    assert len(later.json["deliveries"]) == 2


def test_moments_are_kept_with_their_zone(alerts: Channel) -> None:
    typed("record", stdin=say_message(not_after="2100-01-01T02:00:00+02:00"))

    kept = Message.objects.get().not_after

    assert kept is not None
    assert kept.isoformat() == "2100-01-01T00:00:00+00:00"


def test_a_file_is_read_too(alerts: Channel, tmp_path: Path) -> None:
    file = tmp_path / "said.json"
    file.write_text(say(), encoding="utf-8-sig")

    assert typed("record", str(file)).code == 0
    assert Delivery.objects.count() == 2


def test_a_file_that_is_not_there_or_not_text_is_named(
    transactional_db: None, tmp_path: Path
) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")

    for name in (str(tmp_path / "none"), str(tmp_path), str(binary)):
        refused = typed("record", name)
        assert (refused.code, "file: " in refused.err) == (2, True)
