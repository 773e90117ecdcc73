"""The gates, asked about every decision in every situation."""

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import product
from typing import Any

import pytest

from delivery.facts import AttemptFact, EvidenceFact, Facts, Policy
from delivery.next_move import Kind as Moves
from delivery.next_move import next_move
from ledgers.states import DeliveryStatus as S
from reviews import agreeing, gates
from reviews.agreeing import Answering, Asked
from reviews.gates import judge
from reviews.judged import Conduct, Seen
from reviews.kinds import Gate, Kind
from reviews.searching import look_refused
from tests.rules.scenarios import BASE

NOW = BASE + timedelta(hours=2)
CONDUCT = Conduct()
POLICY = Policy(retry_schedule=(0,), deadline_s=10, margin_s=5)


def at(minutes: float) -> datetime:
    return NOW + timedelta(minutes=minutes)


def tried(outcome: str, minutes: float = -30, **fields: Any) -> AttemptFact:
    usual: dict[str, Any] = {
        "generation": 1, "number": 1, "outcome": outcome, "opened_at": at(minutes),
        "closed_at": at(minutes), "lease_until": at(minutes + 1), "deadline_s": 10,
        "key_scope": "endpoint",
    }  # fmt: skip
    return AttemptFact(**usual | fields)


def looked(verdict: str, minutes: float = -5, generation: int = 1) -> EvidenceFact:
    return EvidenceFact(generation, "surface_scan", verdict, at(minutes), at(-120))


def seen(status: S = S.UNKNOWN, *, policy: Policy = POLICY, **more: Any) -> Seen:
    """An unknown delivery after one ambiguous attempt, unless said otherwise."""
    row = {k: more.pop(k) for k in ("newest", "erased", "leased_until", "waiting") if k in more}
    facts: dict[str, Any] = {"attempts": (tried("ambiguous"),), "policy": policy} | more
    if "key_first_used_at" not in facts and facts["attempts"]:
        facts["key_first_used_at"] = facts["attempts"][0].opened_at
    return Seen(1, "5f3a", 3, status, "room:ops", Facts("5f3a", **facts), NOW, **row)


def keyed(window_h: float) -> Policy:
    return replace(POLICY, key_honoured=True, key_scope="endpoint", window_s=window_h * 3600)


SEARCHED = replace(POLICY, can_look_up=True)
REWOUND: dict[str, Any] = {"attempts": (), "rewound_at": at(-30), "rewound_from": at(-90)}
# Situations, and the decisions that are allowed in each. Everything else is refused.
SITUATIONS: dict[str, tuple[Seen, set[Kind]]] = {
    "unknown, nothing can be searched": (
        seen(), {Kind.ARRIVED, Kind.SEND_OTHERWISE, Kind.LEAVE, Kind.CANCEL}
    ),
    "unknown, searched lately": (
        seen(policy=SEARCHED, evidence=(looked("inconclusive"),)),
        {Kind.ARRIVED, Kind.SEND_OTHERWISE, Kind.LEAVE, Kind.CANCEL, Kind.LOOK_AGAIN},
    ),
    "unknown, searched too long ago": (
        seen(policy=SEARCHED, evidence=(looked("inconclusive", -16),)),
        {Kind.ARRIVED, Kind.LEAVE, Kind.CANCEL, Kind.LOOK_AGAIN},
    ),
    "unknown, never searched": (
        seen(policy=SEARCHED), {Kind.ARRIVED, Kind.LEAVE, Kind.CANCEL, Kind.LOOK_AGAIN}
    ),
    "unknown, the key protects": (
        seen(policy=keyed(24)), {Kind.ARRIVED, Kind.SEND_SAME_KEY, Kind.LEAVE, Kind.CANCEL}
    ),
    "unknown, the window has closed": (
        seen(policy=keyed(0.25)),
        {Kind.ARRIVED, Kind.SEND_OTHERWISE, Kind.LEAVE, Kind.CANCEL},
    ),
    "unknown, the window closes before the undo ends": (
        seen(policy=keyed(0.5 + 30 / 3600)),
        {Kind.ARRIVED, Kind.SEND_OTHERWISE, Kind.LEAVE, Kind.CANCEL},
    ),
    "unknown and withdrawn": (seen(withdrawn=True), {Kind.ARRIVED, Kind.LEAVE, Kind.CANCEL}),
    "unknown and its content erased": (
        seen(erased=True), {Kind.ARRIVED, Kind.LEAVE, Kind.CANCEL}
    ),
    "unknown and another generation stands in its place": (
        seen(newest=2), {Kind.ARRIVED, Kind.LEAVE, Kind.CANCEL}
    ),
    "unknown and somebody has asked for it": (
        seen(waiting="bob has asked to send again"), {Kind.ARRIVED, Kind.LEAVE, Kind.CANCEL}
    ),
    "unknown and held by a worker": (seen(leased_until=at(1)), {Kind.CANCEL}),
    "unknown and left by a person": (
        seen(decision="leave", decided_at=at(-1)),
        {Kind.ARRIVED, Kind.SEND_OTHERWISE, Kind.CANCEL},
    ),
    "unknown and left by a person, and an answer came since": (
        seen(
            decision="leave", decided_at=at(-2),
            attempts=(tried("ambiguous", closed_at=at(-1)),),
        ),
        {Kind.ARRIVED, Kind.SEND_OTHERWISE, Kind.LEAVE, Kind.CANCEL},
    ),
    "unknown and left by a person, and searched since": (
        seen(
            policy=SEARCHED, decision="leave", decided_at=at(-2),
            evidence=(looked("inconclusive", -1),),
        ),
        {Kind.ARRIVED, Kind.SEND_OTHERWISE, Kind.LEAVE, Kind.CANCEL, Kind.LOOK_AGAIN},
    ),
    "unknown and left by a person, and a restore has been since": (
        seen(decision="leave", decided_at=at(-2), rewound_at=at(-1)),
        {Kind.ARRIVED, Kind.SEND_OTHERWISE, Kind.LEAVE, Kind.CANCEL},
    ),
    "unknown, and a person has sent it again": (
        seen(policy=keyed(24), decision="send_again", decided_at=at(-1)),
        {Kind.ARRIVED, Kind.LEAVE, Kind.CANCEL},
    ),
    "unknown, and what a person sent again may have arrived too": (
        seen(
            policy=keyed(24), decision="send_again", decided_at=at(-2),
            attempts=(tried("ambiguous"), tried("ambiguous", -1, number=2)),
        ),
        {Kind.ARRIVED, Kind.SEND_SAME_KEY, Kind.LEAVE, Kind.CANCEL},
    ),
    "a restore has put it in doubt, and nothing can be searched": (
        seen(**REWOUND),
        {Kind.ARRIVED, Kind.SEND_OTHERWISE, Kind.RELEASE, Kind.LEAVE, Kind.CANCEL},
    ),
    "a restore has put it in doubt, and it was searched since": (
        seen(policy=SEARCHED, evidence=(looked("inconclusive"),), **REWOUND),
        {
            Kind.ARRIVED, Kind.SEND_OTHERWISE, Kind.RELEASE, Kind.LEAVE, Kind.LOOK_AGAIN,
            Kind.CANCEL,
        },
    ),
    "a restore has put it in doubt, and it was searched too early to tell": (
        seen(policy=SEARCHED, evidence=(looked("inconclusive", -40),), **REWOUND),
        {Kind.ARRIVED, Kind.LEAVE, Kind.LOOK_AGAIN, Kind.CANCEL},
    ),
    "a restore has put it in doubt, and a worker of before it may still send": (
        seen(**REWOUND | {"rewound_at": at(1)}),
        {Kind.ARRIVED, Kind.SEND_OTHERWISE, Kind.LEAVE, Kind.CANCEL},
    ),
    "a restore has put it in doubt, and so has an attempt": (
        seen(**REWOUND | {"attempts": (tried("ambiguous"),)}),
        {Kind.ARRIVED, Kind.SEND_OTHERWISE, Kind.LEAVE, Kind.CANCEL},
    ),
    "absent": (
        seen(S.PENDING, policy=SEARCHED, evidence=(looked("absent"),)),
        {Kind.ARRIVED, Kind.SEND_AFTER_ABSENT, Kind.LEAVE, Kind.CANCEL},
    ),
    "absent, and the search is too old": (
        seen(S.PENDING, policy=SEARCHED, evidence=(looked("absent", -20),)),
        {Kind.ARRIVED, Kind.LEAVE, Kind.CANCEL},
    ),
    "absent, and a person has sent it again": (
        seen(
            S.PENDING, policy=SEARCHED, evidence=(looked("absent"),), decision="send_again",
            decided_at=at(-1),
        ),
        {Kind.ARRIVED, Kind.LEAVE, Kind.CANCEL},
    ),
    "owed": (seen(S.PENDING, attempts=()), {Kind.CANCEL}),
    "owed, under approval": (
        seen(S.PENDING, attempts=(), held=("approval required",)),
        {Kind.CANCEL, Kind.APPROVE_TRY, Kind.REFUSE_TRY},
    ),
    "on the wire": (
        seen(S.SUBMITTING, attempts=(tried("", -1, held=True, lease_until=at(1)),)), {Kind.CANCEL}
    ),
    "delivered": (seen(S.DELIVERED, attempts=(tried("accepted"),)), set()),
    "failed": (
        seen(S.FAILED, attempts=(tried("refused", permanent=True),)),
        {Kind.ARRIVED, Kind.TRY_AGAIN},
    ),
    "failed, and its content erased": (
        seen(S.FAILED, attempts=(tried("refused", permanent=True),), erased=True), {Kind.ARRIVED}
    ),
    "expired": (
        seen(S.EXPIRED, attempts=(), not_after=at(-1)), {Kind.TRY_AGAIN, Kind.DISCARD}
    ),
    "expired and discarded": (
        seen(S.EXPIRED, attempts=(), not_after=at(-5), decision="leave", decided_at=at(-1)),
        {Kind.TRY_AGAIN},
    ),
    "cancelled": (seen(S.CANCELLED, attempts=(), withdrawn=True), set()),
}  # fmt: skip


@pytest.mark.parametrize(("name", "kind"), list(product(SITUATIONS, Kind)), ids=str)
def test_each_decision_is_allowed_where_it_is_and_refused_with_a_way_out_elsewhere(
    name: str, kind: Kind
) -> None:
    one, allowed = SITUATIONS[name]

    verdict = judge(kind, one, CONDUCT)

    assert verdict.allowed == (kind in allowed), verdict.refusal
    if verdict.refusal is not None:
        assert verdict.refusal.why
        assert verdict.refusal.right


SENDING = [(n, kind) for n, (_, kinds) in SITUATIONS.items() for kind in kinds & gates.GOES]


@pytest.mark.parametrize(("name", "kind"), SENDING, ids=str)
def test_what_is_allowed_to_send_is_sent_by_the_workers_own_rules(name: str, kind: Kind) -> None:
    one, _ = SITUATIONS[name]

    move = gates.foresee(kind, one, CONDUCT)

    assert move.kind in {Moves.SUBMIT, Moves.WAIT}


def test_only_what_may_make_a_second_message_takes_two_people() -> None:
    two = {k for k in Kind if gates.gate_of(k, CONDUCT) == Gate.TWO}

    assert two == {Kind.SEND_OTHERWISE, Kind.RELEASE}
    alone = replace(CONDUCT, approvers=1)
    assert gates.gate_of(Kind.SEND_OTHERWISE, alone) == Gate.ALONE


def test_a_decision_to_send_what_is_held_is_allowed_and_waits() -> None:
    held = seen(held=("channel paused: maintenance",))

    assert judge(Kind.SEND_OTHERWISE, held, CONDUCT).allowed
    assert next_move(held.facts, NOW).kind == Moves.ASK


def test_evidence_is_as_fresh_as_when_it_was_asked_for() -> None:
    asked = seen(policy=SEARCHED, evidence=(looked("inconclusive", -40),))

    assert not judge(Kind.SEND_OTHERWISE, asked, CONDUCT).allowed
    since = replace(CONDUCT, asked_at=at(-30))
    assert judge(Kind.SEND_OTHERWISE, asked, since).allowed


def test_a_refusal_reads_as_a_sentence() -> None:
    refusal = judge(Kind.TRY_AGAIN, seen(), CONDUCT).refusal

    assert str(refusal) == (
        "it is unknown. Right would be: find out whether it arrived, or send it again by its own"
        " decision."
    )


@pytest.mark.parametrize(
    ("minutes", "allowed"), [(-1, False), (0, False), (5, True), (60, False), (60 * 24 * 8, False)]
)
def test_a_search_is_asked_for_soon_and_before_the_window_closes(
    minutes: float, allowed: bool
) -> None:
    one = seen(policy=replace(keyed(1), can_look_up=True))

    assert (look_refused(at(minutes), one) is None) == allowed


ASKED = Asked(Gate.TWO, "alice", 7, at(10), None, "room:ops")
ALONE = replace(ASKED, gate=Gate.ALONE, ripe_at=at(-1))


@pytest.mark.parametrize(
    ("asked", "by", "refused"),
    [
        (ASKED, Answering("bob", 8), ""),
        (ASKED, Answering("alice", 7), "cannot approve it"),
        (ASKED, Answering("alice the second", 7), "cannot approve it"),
        (ASKED, Answering("alice", None), "cannot approve it"),
        (replace(ASKED, expires_at=NOW), Answering("bob", 8), "expired"),
        (ALONE, Answering("alice", 7, "room:ops"), ""),
        (ALONE, Answering("alice", 7, " room:ops "), ""),
        (ALONE, Answering("alice", 7, "room:osp"), "typed"),
        (ALONE, Answering("alice", 7), "typed"),
        (replace(ALONE, ripe_at=at(1)), Answering("alice", 7, "room:ops"), "from"),
    ],
)  # fmt: skip
def test_who_may_approve(asked: Asked, by: Answering, refused: str) -> None:
    refusal = agreeing.approval_refused(asked, by, NOW)

    assert (refusal is None) == (refused == "")
    assert refused in str(refusal or "")


def test_what_is_typed_is_the_destination_or_how_many() -> None:
    assert agreeing.expected_typing(["room:a"]) == "room:a"
    assert agreeing.expected_typing(["room:a", "room:b"]) == "2"
