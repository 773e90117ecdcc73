"""The list of deliveries: each filter finds what it says; one that is not understood, nothing."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from ledgers import moves
from ledgers.clock import database_now
from ledgers.models import Channel, Delivery
from ledgers.states import DeliveryStatus as S
from reviews import decisions
from reviews.assigning import assign
from reviews.kinds import Kind
from reviews.people import person_of
from reviews.wishes import Wish
from tests.console.people import person
from tests.factories import SENDER, make_channel, record
from tests.ledgers.rows import begin, change_of, row_in

pytestmark = pytest.mark.django_db
LIST = "admin:ledgers_delivery_changelist"


def listed(client: Client, **query: Any) -> list[Delivery]:
    answer: Any = client.get(reverse(LIST), query)
    assert answer.status_code == 200
    return list(answer.context["cl"].result_list)


def test_unknown_deliveries_are_found_by_where_they_were_lost(
    admin: Client, channel: Channel
) -> None:
    row = row_in(S.UNKNOWN)
    lost = record(run_id="run-2")[0]
    begin(lost)
    moves.suspect([change_of(lost, due_at=database_now())])

    assert listed(admin, boundary="written") == [row]
    assert listed(admin, boundary="lost") == [lost]
    assert listed(admin, boundary="restored") == listed(admin, boundary="silent") == []


def test_what_is_not_delivered_is_found_by_its_cause(admin: Client, channel: Channel) -> None:
    row = row_in(S.FAILED)
    Delivery.objects.filter(pk=row.pk).update(cause="refused: no such room")
    row_in(S.DELIVERED, "run-2")

    assert listed(admin, cause="refused") == [row]
    assert listed(admin, cause="expired") == []


def test_deliveries_are_found_by_what_their_provider_can_do(
    admin: Client, channel: Channel
) -> None:
    make_channel("keyed", settings={"path": SENDER, "dedupe_window_s": 60})
    plain = record()[0]
    keyed = record(run_id="run-2", channel="keyed")[0]

    assert listed(admin, capability="key") == [keyed]
    assert listed(admin, capability="neither") == [plain]
    assert listed(admin, capability="look-up") == []


def test_what_a_person_decided_about_is_found_by_that(admin: Client, channel: Channel) -> None:
    row, _ = row_in(S.EXPIRED), row_in(S.EXPIRED, "run-2")
    wish = Wish(Kind.DISCARD, reason="too late anyhow")
    decisions.decide(person_of(person("triager")), wish, [row])

    assert listed(admin, touched="yes") == [row]


def test_deliveries_are_found_by_who_takes_care_of_them(admin: Client, channel: Channel) -> None:
    mine, free = row_in(S.UNKNOWN), row_in(S.UNKNOWN, "run-2")
    assign([mine.pk], "ann")

    assert listed(admin, taken="ann") == [mine]
    assert listed(admin, taken="-") == [free]
    assert "ann" in admin.get(reverse(LIST)).content.decode()


def test_only_later_generations_are_listed_where_they_are_asked_for(
    admin: Client, channel: Channel
) -> None:
    record()

    assert listed(admin, generation="later") == []


@pytest.mark.parametrize(
    ("term", "found"),
    [
        ("@acme.test", {"ops@acme.test", "https://acme.test/x"}),
        ("@ACME", {"ops@acme.test", "https://acme.test/x", "a@acme.org"}),
        ("acme.test", {"ops@acme.test", "https://acme.test/x"}),
        ("ops@", {"ops@acme.test"}),
        ("https://acme", {"https://acme.test/x"}),
        ("run-1", {"ops@acme.test", "https://acme.test/x", "a@acme.org", "tg:acme.test"}),
        ("nothing", set()),
    ],
)
def test_a_search_understands_a_term_by_its_shape(
    admin: Client, channel: Channel, term: str, found: set[str]
) -> None:
    record(["ops@acme.test", "https://acme.test/x", "a@acme.org", "tg:acme.test"])

    assert {row.destination for row in listed(admin, q=term)} == found


def test_deliveries_of_one_channel_stand_in_the_order_of_their_messages(
    admin: Client, channel: Channel
) -> None:
    rows = [record(run_id=f"run-{n}")[0] for n in range(3)]

    found = listed(admin, message__channel__id__exact=channel.pk)

    assert found == rows[::-1]


@pytest.mark.parametrize(
    "query",
    [
        {"foo": "1"},
        {"e": "1"},
        {"o": "2"},
        {"all": ""},
        {"p": "99"},
        {"status__exact": "lost"},
        {"boundary": "moon"},
        {"message__channel__id__exact": "x"},
        {"message__channel__id__exact": "999"},
        {"p": "x"},
        {"q": "\x00"},
    ],
)
def test_a_query_that_is_not_understood_matches_nothing_and_says_so(
    admin: Client, channel: Channel, query: dict[str, str]
) -> None:
    record()

    answer: Any = admin.get(reverse(LIST), query)

    assert answer.status_code == 400
    assert list(answer.context["cl"].result_list) == []
    assert "nothing matches" in answer.content.decode()
