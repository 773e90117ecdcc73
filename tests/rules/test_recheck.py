"""Every stored decision is decided again from its stored inputs, with no socket but one."""

import json
import socket
import tracemalloc
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection

from delivery import inputs
from delivery.errors import RefusedError
from delivery.facts import AttemptFact, EvidenceFact, Facts, Policy
from delivery.next_move import next_move
from delivery.recheck import Recheck, difference
from ledgers.models import Event
from tests.commands.shell import typed
from tests.delivery.senders import Desk
from tests.factories import make_channel, record, sweep
from tests.rules.scenarios import Scenario, build


@pytest.fixture
def decided(transactional_db: None, desk: Desk) -> list[Event]:
    """A ledger in which a message was delivered, one refused, and one left to a person."""
    make_channel()
    desk.script("tg:2", RefusedError("no such chat"))
    desk.script("tg:3", TimeoutError())
    record(["tg:1", "tg:2", "tg:3"])
    sweep()
    make_channel("paused", paused_at=datetime.now(UTC), pause_reason="a test")
    record(["tg:4"], run_id="run-2", channel="paused")
    sweep()
    return list(Event.objects.exclude(inputs="").order_by("pk"))


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The database's connection is open already; nothing else may open a socket."""
    connection.ensure_connection()

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_a_ledger_reproduces_its_decisions_and_opens_no_socket(
    decided: list[Event], no_sockets: None, desk: Desk
) -> None:
    calls = len(desk.received)

    told = typed("recheck_decisions", "--json")

    assert told.code == 0
    assert told.json == {
        "decisions": len(decided),
        "differ": 0,
        "last_event": decided[-1].pk,
        "differences": [],
    }
    assert {event.kind for event in decided} >= {"begin", "accept", "fail", "suspect", "hold"}
    assert len(desk.received) == calls


def test_only_events_after_the_given_one_are_looked_at(decided: list[Event]) -> None:
    told = typed("recheck_decisions", "--json", "--since", str(decided[1].pk))

    assert told.json["decisions"] == len(decided) - 2


@pytest.mark.unverified_ledgers
def test_a_decision_that_comes_out_otherwise_is_reported_with_what_differs(
    decided: list[Event],
) -> None:
    other = _with_inputs(decided[0], lambda v: v["facts"].update(withdrawn=True))
    other.pk = None
    other.row_version = 999
    other.save()

    told = typed("recheck_decisions")
    as_json = typed("recheck_decisions", "--json")

    assert (told.code, as_json.code) == (1, 1)
    assert "rule was due, would be withdrawn" in told.out
    assert f"1 of {len(decided) + 1} decisions DIFFER" in told.out
    assert as_json.json["differences"][0]["event"] == other.pk


@pytest.mark.parametrize("text", ["x", "-1", "1" * 19, ""])
def test_a_number_that_no_event_can_have_is_a_misuse(text: str) -> None:
    assert typed("recheck_decisions", f"--since={text}").code == 2


def test_an_empty_ledger_has_nothing_that_differs(db: None) -> None:
    told = typed("recheck_decisions")

    assert (told.code, told.out.strip()) == (0, "all 0 decisions are reproduced, up to event 0")


# --- What counts as different


def event(**changes: Any) -> Event:
    facts, now = build(Scenario())
    kept = inputs.dump(facts, now, next_move(facts, now))
    usual = {"kind": "begin", "rule": "due", "inputs": kept, "from_status": "pending",
             "to_status": "submitting"}  # fmt: skip
    return Event(**usual | changes)


def _with_inputs(event: Event, change: Any) -> Event:
    value = json.loads(event.inputs)
    change(value)
    event.inputs = json.dumps(value)
    return event


def test_an_event_of_its_own_decision_does_not_differ() -> None:
    assert difference(event()) == ""


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"rule": "same-key"}, "its rule is same-key, would be due"),
        ({"kind": "accept"}, "submit does not lead to accept"),
        ({"kind": "ask"}, "submit does not lead to ask"),
        ({"kind": "hold"}, "submit does not lead to hold"),
        ({"kind": "clear", "to_status": "submitting"}, "submit does not lead to clear"),
        ({"from_status": "unknown"}, "submit does not lead to begin from unknown"),
        ({"inputs": "{}"}, "its inputs cannot be read"),
        ({"inputs": "no JSON"}, "its inputs cannot be read"),
        ({"inputs": "[]"}, "its inputs cannot be read"),
    ],
)
def test_rule_kind_and_status_of_an_event_are_compared(changes: dict[str, Any], why: str) -> None:
    assert why in difference(event(**changes))


@pytest.mark.parametrize(("field", "value"), [("kind", "wait"), ("status", "unknown"),
                                              ("before", "2026-12-01T09:00:00+00:00")])  # fmt: skip
def test_every_part_of_the_stored_answer_is_compared(field: str, value: str) -> None:
    changed = _with_inputs(event(), lambda v: v["move"].update({field: value}))

    assert f"{field} was {value}" in difference(changed)


def test_what_is_left_out_of_stored_inputs_means_for_ever_what_it_means_today() -> None:
    """Fields at their default are not stored: another default would rewrite the past."""
    policy = Policy()

    assert Facts("x") == Facts(
        "x", generation=1, attempts=(), evidence=(), policy=policy, key_first_used_at=None,
        not_before=None, not_after=None, withdrawn=False, rewound_at=None, rewound_from=None,
        decision="", decided_at=None, look_again_at=None, earlier_part_open=False, unreadable="",
        held=(),
    )  # fmt: skip
    assert policy == Policy(
        retry_schedule=(1, 5, 30, 120, 600, 1800), look_up_schedule=(), max_attempts=8,
        deadline_s=10, margin_s=5, processing_s=0, key_honoured=False, key_scope="", window_s=0,
        can_look_up=False, resend_after_absent=False,
    )  # fmt: skip
    assert _defaults(AttemptFact) == (False, "", None, False)
    assert _defaults(EvidenceFact) == (None,)


def _defaults(kind: type[AttemptFact | EvidenceFact]) -> tuple[object, ...]:
    return kind.__init__.__defaults__ or ()


def test_memory_stays_flat_over_many_events(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("delivery.recheck.PAGE", 100)
    peaks = [_peak(count) for count in (300, 3000)]

    assert peaks[1] < peaks[0] * 1.5


def _peak(count: int) -> int:
    facts, now = build(Scenario())
    text = inputs.dump(facts, now, next_move(facts, now))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO ledgers_event"
            " (at, kind, from_status, to_status, rule, inputs, actor, detail)"
            " SELECT now(), 'begin', 'pending', 'submitting', 'due', %s, 'test', '{}'"
            " FROM generate_series(1, %s)",
            [text, count],
        )
    recheck = Recheck()
    tracemalloc.start()
    assert list(recheck.differences()) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert recheck.count >= count
    return peak
