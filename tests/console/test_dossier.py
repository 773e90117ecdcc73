"""What the delivery's and the run's pages show: to whom, escaped, and at what cost."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ledgers import evidence, moves
from ledgers.clock import database_now
from ledgers.evidence import Sighting
from ledgers.models import Channel, Delivery, Event, OutboxItem
from ledgers.states import DeliveryStatus as S
from reviews.dossier import account
from reviews.plainly import sentence
from tests.console.conftest import As
from tests.factories import deliveries, record
from tests.ledgers.rows import begin, change_of, close, moment, row_in
from tests.reviews.test_gates import NOW, seen, tried

pytestmark = [pytest.mark.django_db, pytest.mark.unverified_ledgers]
HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)>"


def page(name: str, *args: object) -> str:
    return reverse(f"admin:{name}", args=args)


def shown(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def lost(run_id: str = "run-1", **fields: str) -> Delivery:
    """One whose answer was lost, with this in its attempt."""
    row = record(content=HOSTILE, run_id=run_id)[0]
    close(begin(row), "ambiguous", **fields)
    moves.suspect([change_of(row, due_at=moment())])
    OutboxItem.objects.filter(pk=row.pk).update(leased=False, due_at=moment())
    row.refresh_from_db()
    return row


def saw(row: Delivery, verdict: str = "inconclusive", **fields: str) -> None:
    texts = {"searched": "", "why": "", "response": ""} | fields
    evidence.add_sightings(
        [
            Sighting(
                delivery_id=row.pk, taken_at=moment(), method="surface_scan", verdict=verdict,
                covered_from=None, pages=1, provider_message_id="", seen_by="worker", **texts,
            )
        ]
    )  # fmt: skip


def test_remote_text_is_shown_as_text(channel: Channel, admin: Client) -> None:
    row = lost(response=HOSTILE, error=HOSTILE)
    saw(row, why=HOSTILE, searched=HOSTILE, response=HOSTILE)

    html = shown(admin, page("delivery", row.delivery_id) + "?contents=shown")

    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert html.count("&lt;script&gt;alert") >= 5


def test_contents_are_masked_until_somebody_who_may_asks_and_the_look_is_in_the_trail(
    channel: Channel, browse_as: As
) -> None:
    row = lost(response="the provider's answer")
    url = page("delivery", row.delivery_id)

    plain = shown(browse_as("triager"), url)
    viewer = shown(browse_as("viewer"), url + "?contents=shown")
    before = Event.objects.filter(kind="view_payload").count()
    asked = shown(browse_as("triager"), url + "?contents=shown")

    for html in (plain, viewer):
        assert "alert(" not in html
        assert "the provider&#x27;s answer" not in html
    assert before == 0
    assert "the provider&#x27;s answer" in asked
    (event,) = Event.objects.filter(kind="view_payload")
    assert (event.actor, event.delivery_id) == ("triager", row.pk)


def test_a_long_answer_is_capped(channel: Channel, admin: Client) -> None:
    row = lost(response="x" * 100_000)

    html = shown(admin, page("delivery", row.delivery_id) + "?contents=shown")

    assert len(html) < 60_000
    assert "more characters" in html


def test_one_sentence_says_what_may_have_happened(channel: Channel, admin: Client) -> None:
    assert "It may have arrived: all 10 bytes were out, and the answer was lost" in shown(
        admin, page("delivery", lost().delivery_id)
    )
    assert "It arrived: the provider accepted it." in shown(
        admin, page("delivery", row_in(S.DELIVERED, "run-2").delivery_id)
    )
    assert "It is on the wire now" in shown(
        admin, page("delivery", row_in(S.SUBMITTING, "run-3").delivery_id)
    )


def test_what_another_generation_proves_is_not_said_of_this_one() -> None:
    accepted = tried("accepted", -5, generation=2, number=2)
    doubted = seen(S.DELIVERED, attempts=(tried("ambiguous"), accepted)).facts

    said = sentence(S.DELIVERED, doubted, None, "", NOW)
    of_second = sentence(S.DELIVERED, replace(doubted, generation=2), None, "", NOW)

    assert said == (
        "It arrived: generation 2 of it did, and whether this one did as well, nobody knows."
    )
    assert of_second == "It arrived: the provider accepted it."


def test_a_destination_outside_the_rules_is_said_to_be_so(channel: Channel, admin: Client) -> None:
    row = lost()
    inside = shown(admin, page("delivery", row.delivery_id))
    channel.credential.destination_rules = ["tg:7*"]
    channel.credential.save()

    outside = shown(admin, page("delivery", row.delivery_id))

    assert "its rule <code>*</code>" in inside
    assert "all its rules: nothing would be sent" in outside


def test_what_does_not_exist_is_not_found(channel: Channel, admin: Client) -> None:
    nobody = "00000000-0000-0000-0000-000000000000"

    assert admin.get(page("delivery", nobody)).status_code == 404
    assert admin.get(page("run", 4711)).status_code == 404
    assert admin.get(page("decision", 4711)).status_code == 404


def test_the_run_accounts_for_every_destination(channel: Channel, admin: Client) -> None:
    to = [f"tg:{n}" for n in range(12)]
    rows = record(to)
    for row in rows[:11]:
        close(begin(row), "accepted")
        moves.accept([change_of(row)])
    close(begin(rows[11]), "ambiguous")
    moves.suspect([change_of(rows[11], due_at=moment())])
    url = page("run", rows[0].message.step.run_id)

    html = shown(admin, url)

    assert "12 of 12 destinations: 11 delivered, 1 unknown" in html
    assert "tg:11" in html
    assert "tg:3<" not in html
    assert "tg:3<" in shown(admin, url + "?status=delivered")
    assert "names a status that does not exist" in shown(admin, url + "?status=lost")


def test_a_later_execution_that_differed_is_shown_beside_the_frozen_roster(
    channel: Channel, admin: Client
) -> None:
    record(["tg:1"])
    record(["tg:1", "tg:2"])
    (row,) = deliveries()

    html = shown(admin, page("run", row.message.step.run_id))

    assert "1 of 1 destination: 1 pending" in html
    assert "roster_drift" in html
    assert "tg:2" in html


def test_a_long_run_comes_page_by_page(channel: Channel, admin: Client) -> None:
    rows = record([f"tg:{n}" for n in range(120)])
    url = page("run", rows[0].message.step.run_id)

    first = shown(admin, url)
    last = shown(admin, f"{url}?after={rows[99].pk}")

    assert f"after={rows[49].pk}" in first
    assert "tg:119<" in last
    assert "tg:99<" not in last


def test_triage_comes_page_by_page_without_a_gap(channel: Channel, admin: Client) -> None:
    rows = record([f"tg:{n}" for n in range(60)])
    for row in rows:
        close(begin(row), "ambiguous")
        moves.suspect([change_of(row, due_at=moment())])
    first = admin.get(page("triage"))

    second = admin.get(page("triage") + "?" + first.context["more"])

    listed = [one.row.pk for one in (*first.context["rows"], *second.context["rows"])]
    assert listed == [row.pk for row in rows]
    assert second.context["more"] == ""


@pytest.mark.parametrize("query", ["after=nonsense", "after=never~x~1", "after=%00~~"])
def test_a_place_that_is_not_understood_begins_at_the_first(
    channel: Channel, admin: Client, query: str
) -> None:
    lost()

    assert "tg:1001" in shown(admin, page("triage") + "?" + query)


@pytest.mark.parametrize(
    "query", ["channel=", "boundary=written", "boundary=%00&channel=a&from=b&to=c"]
)
def test_an_incident_that_is_not_understood_matches_nothing_and_says_so(
    channel: Channel, admin: Client, query: str
) -> None:
    lost()

    html = shown(admin, page("triage") + "?" + query)

    assert "the address is not understood" in html


def queries(client: Client, url: str) -> int:
    client.get(url)  # what is remembered for the site is read once
    with CaptureQueriesContext(
        connection,
    ) as seen:
        assert client.get(url).status_code == 200
    return len(seen)


@pytest.mark.parametrize("name", ["triage", "delivery", "run", "approvals", "decision"])
def test_a_page_takes_as_many_statements_for_many_rows_as_for_few(
    channel: Channel, admin: Client, name: str
) -> None:
    from reviews.people import person_of
    from reviews.selecting import select
    from tests.console.people import person

    rows: list[Delivery] = []

    def grow(count: int, run_id: str) -> None:
        mine = record([f"tg:{run_id}{n}" for n in range(count)], run_id=run_id)
        for row in mine:
            close(begin(row), "ambiguous")
            moves.suspect([change_of(row, due_at=moment())])
            saw(row)
        rows.extend(mine)

    def url() -> str:
        one = rows[0]
        one.refresh_from_db()
        if name == "decision":
            versions = dict(Delivery.objects.values_list("pk", "row_version"))
            return page(name, select(person_of(person("superuser")), versions).pk)
        args: dict[str, object] = {
            "delivery": one.delivery_id, "run": one.message.step.run_id,
        }  # fmt: skip
        return page(name, args[name]) if name in args else page(name)

    grow(2, "few")
    few = queries(admin, url())
    grow(20, "many")
    many = queries(admin, url())

    assert few == many
    assert few < 40


@pytest.mark.parametrize(
    ("destinations", "line"),
    [
        (24, "24 of 24 destinations: 20 delivered, 4 unknown"),
        (6, "24 of 24 parts to 6 destinations: 20 delivered, 4 unknown"),
        (1, "24 of 24 parts to 1 destination: 20 delivered, 4 unknown"),
    ],
)
def test_parts_are_not_counted_as_destinations(destinations: int, line: str) -> None:
    assert account(Counter(delivered=20, unknown=4), destinations) == line


def test_searches_that_say_the_same_stand_once_with_their_number(
    channel: Channel, admin: Client
) -> None:
    row = lost()
    said: dict[str, Any] = {
        "delivery_id": row.pk, "taken_at": database_now(), "method": "surface_scan",
        "covered_from": None, "pages": 1, "provider_message_id": "", "response": "",
        "searched": "the last hour", "verdict": "inconclusive", "seen_by": "tester",
    }  # fmt: skip
    for why in ("it broke off", "it broke off", "it broke off", "no answer"):
        evidence.add_sightings([Sighting(why=why, **said)])

    html = shown(admin, page("delivery", row.delivery_id))

    assert html.count('class="cf-finding"') == 2
    assert "by tester, 3 times in a row" in html
