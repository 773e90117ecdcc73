"""Requests that wait for another person: approved, refused, expired or void."""

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from delivery.simulator.client import Simulator
from ledgers.clock import database_now
from ledgers.errors import InvalidValueError
from ledgers.models import Delivery, Event
from reviews import decisions
from reviews.errors import NotAllowedError, VoidError
from reviews.kinds import Kind, Stage
from reviews.people import Person, person_of
from reviews.records import Decision
from tests.reviews.people import person
from tests.reviews.scenes import (
    BLIND,
    ROOM,
    channel,
    unknown,
    wish,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_who_asks_cannot_approve_not_even_a_superuser(recipient: Simulator) -> None:
    root = person("root", superuser=True)
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    asked = decisions.decide(root, wish(Kind.SEND_OTHERWISE), [row])

    with pytest.raises(NotAllowedError, match="another person's approval"):
        decisions.approve(root, asked.pk)

    assert Delivery.objects.count() == 1
    assert Event.objects.filter(kind="refuse", actor="root").exists()


def test_a_destination_that_is_not_typed_is_not_asked_for(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)

    with pytest.raises(NotAllowedError, match=ROOM):
        decisions.decide(alice, wish(Kind.SEND_OTHERWISE, typed="room:osp"), [row])


def test_one_operator_alone_types_waits_ten_minutes_and_the_trail_says_one_person(
    recipient: Simulator, bob: Person, settings: Settings
) -> None:
    settings.COUNTERFOIL_APPROVERS = 1
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    asked = decisions.decide(bob, wish(Kind.SEND_OTHERWISE), [row])

    with pytest.raises(NotAllowedError, match="may be approved from"):
        decisions.approve(bob, asked.pk, typed=ROOM)
    Decision.objects.filter(pk=asked.pk).update(ripe_at=database_now())
    with pytest.raises(NotAllowedError, match="typed"):
        decisions.approve(bob, asked.pk, typed="")
    decisions.approve(bob, asked.pk, typed=ROOM)

    made = Event.objects.get(kind="record", delivery__generation=2)
    assert made.detail["people"] == "one person"


def test_a_request_is_void_when_anything_moved(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])
    decisions.decide(alice, wish(Kind.ARRIVED), [row])

    with pytest.raises(VoidError, match="moved"):
        decisions.approve(bob, asked.pk)

    asked.refresh_from_db()
    assert asked.stage == Stage.VOID
    assert Delivery.objects.count() == 1


def test_a_request_expires_after_an_hour(recipient: Simulator, alice: Person, bob: Person) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])
    Decision.objects.filter(pk=asked.pk).update(expires_at=database_now())

    with pytest.raises(NotAllowedError, match="within the hour"):
        decisions.approve(bob, asked.pk)

    asked.refresh_from_db()
    assert asked.stage == Stage.EXPIRED


def test_a_second_request_about_the_same_delivery_is_refused_naming_the_first(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])

    with pytest.raises(NotAllowedError, match="alice has asked to send again"):
        decisions.decide(bob, wish(Kind.SEND_OTHERWISE), [row])


def test_a_request_can_be_refused_with_a_reason(
    recipient: Simulator, alice: Person, bob: Person
) -> None:
    channel(recipient, settings=BLIND)
    (row,) = unknown(recipient)
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), [row])

    with pytest.raises(NotAllowedError, match="no reason"):
        decisions.refuse(bob, asked.pk, " ")
    done = decisions.refuse(bob, asked.pk, "they have it")

    assert (done.stage, done.answer) == (Stage.REFUSED, "they have it")
    with pytest.raises(NotAllowedError, match="refused by the second person"):
        decisions.approve(bob, asked.pk)


@pytest.mark.parametrize("answer", ["a NUL \x00", "x" * 2_001, "\ud800"])
def test_an_answer_that_cannot_be_kept_is_refused_with_its_field(
    recipient: Simulator, alice: Person, bob: Person, answer: str
) -> None:
    channel(recipient, settings=BLIND)
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), unknown(recipient))

    for act in (decisions.approve, decisions.refuse):
        with pytest.raises(InvalidValueError, match="answer"):
            act(bob, asked.pk, answer)

    assert Decision.objects.get(pk=asked.pk).stage == Stage.REQUESTED


def test_a_request_stays_its_persons_own_when_another_gets_their_name(
    recipient: Simulator, alice: Person
) -> None:
    channel(recipient, settings=BLIND)
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE), unknown(recipient))
    User.objects.filter(username="alice").update(username="alice-smith")
    namesake = person("alice", "triager")
    renamed = person_of(User.objects.get(username="alice-smith"))

    with pytest.raises(NotAllowedError, match="permission approve"):
        decisions.refuse(namesake, asked.pk, "mine, surely")

    assert decisions.refuse(renamed, asked.pk, "not needed").stage == Stage.REFUSED


def test_a_refusal_says_once_what_would_be_right(recipient: Simulator, alice: Person) -> None:
    channel(recipient, settings=BLIND)
    rows = unknown(recipient)

    with pytest.raises(NotAllowedError) as refused:
        decisions.decide(alice, wish(Kind.TRY_AGAIN), rows)

    assert str(refused.value).count("Right would be") == 1
    assert ".." not in str(refused.value)
