"""What the database refuses whoever writes: a request is carried out as it was asked for."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import IntegrityError, transaction

from delivery.simulator.client import Simulator
from ledgers.canonical import Json
from ledgers.clock import database_now
from reviews import decisions, proposing
from reviews.kinds import Gate, Kind, Stage
from reviews.people import Person
from reviews.proposals import Proposal
from reviews.records import DecidedRow, Decision
from tests.factories import SENDER, make_channel, record
from tests.reviews.people import person
from tests.reviews.scenes import BLIND, channel, unknown, wish

pytestmark = pytest.mark.django_db(transaction=True)


WIDER: dict[str, Json] = {"settings": {"path": SENDER, "dedupe_window_s": 3_600}}


@contextmanager
def refused(words: str) -> Iterator[None]:
    with pytest.raises(IntegrityError, match=words), transaction.atomic():
        yield


@pytest.fixture
def asked(transactional_db: None) -> Proposal:
    """A change that waits for its second person."""
    row = make_channel(rules=["tg:*"])
    record(["tg:1"])
    olga = person("olga", "operator-admin")
    row.refresh_from_db()
    draft = proposing.draft(olga, row, WIDER, 1)
    return proposing.request(olga, draft.pk, "R")


def test_a_change_that_waits_cannot_be_made_another_one_or_go_away(asked: Proposal) -> None:
    waiting = Proposal.objects.filter(pk=asked.pk)
    assert asked.stage == Stage.REQUESTED

    for other in (
        {"after": {"rate_per_s": 0.0}},
        {"row_version": 7},
        {"gate": Gate.ONE},
        {"reason": "another"},
    ):
        with refused("what was asked for is frozen"):
            waiting.update(**other)
    with refused("audit record"):
        waiting.delete()


def test_what_became_of_a_change_stays(asked: Proposal) -> None:
    proposing.approve(person("bob", "approver"), asked.pk)
    done = Proposal.objects.filter(pk=asked.pk)

    with refused("audit record"):
        done.update(approved_by="somebody else")
    with refused("audit record"):
        done.update(stage=Stage.REQUESTED, executed_at=None)


def test_one_account_under_two_names_is_not_two_people(asked: Proposal) -> None:
    """The name of then is another; the account is the same."""
    with refused("two_accounts"):
        Proposal.objects.filter(pk=asked.pk).update(
            stage=Stage.EXECUTED,
            executed_at=database_now(),
            approved_by="olga-smith",
            approver_id=asked.requester_id,
        )


def test_the_list_of_a_request_is_as_frozen_as_its_words(
    recipient: Simulator, alice: Person
) -> None:
    """What the second person approves is about no other delivery than what they saw."""
    channel(recipient, settings=BLIND)
    one, other = unknown(recipient, "room:a", "room:b")
    decision = decisions.decide(alice, wish(Kind.SEND_OTHERWISE, typed="room:a"), [one])
    (row,) = decision.rows.all()

    with refused("what was seen is frozen"):
        DecidedRow.objects.filter(pk=row.pk).update(delivery_id=other.pk)
    with refused("what was seen is frozen"):
        DecidedRow.objects.filter(pk=row.pk).update(row_version=99)
    with refused("what was asked for is frozen"):
        DecidedRow.objects.create(
            decision=decision, delivery=other, row_version=1, status=other.status
        )
    with refused("what was asked for is frozen"):
        row.delete()
    with refused("two_accounts"):
        Decision.objects.filter(pk=decision.pk).update(
            stage=Stage.EXECUTED,
            executed_at=database_now(),
            approved_by="alice-smith",
            approver_id=alice.user_id,
        )
